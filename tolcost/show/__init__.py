"""Reports: documents as data, and a writer for each format."""
