"""The digits net in a web page: trained and exported here, drawn for and run in the browser."""
