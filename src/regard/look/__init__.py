"""What was looked at, shown to a person: in the terminal, as a picture, as a page, as JSON."""
