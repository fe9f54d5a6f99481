"""What is shown: documents as data, and a writer for each format."""
