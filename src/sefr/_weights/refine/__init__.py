"""Further passes over the rows: from the weights of one pass towards those of a linear SVM."""
