"""The open battery: sets of catalogs and requests that decide which ranking is better."""
