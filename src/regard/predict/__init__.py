"""Ways to answer: what is made of a look."""
