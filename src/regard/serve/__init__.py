"""What regard serves: runs over HTTP with their page, and the page on which people judge outputs."""
