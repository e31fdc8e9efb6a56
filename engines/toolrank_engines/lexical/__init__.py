"""Words and their weight: what every engine that ranks by words here agrees on."""
