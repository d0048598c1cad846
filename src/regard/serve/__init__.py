"""What regard serves: runs that answer over HTTP, with their page; and the page on which people judge outputs."""
