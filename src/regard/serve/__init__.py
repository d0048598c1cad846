"""What regard serves to a browser on this machine: the page on which people judge outputs, and what it came to."""
