// Package local needs the driver.
package local

import _ "modernc.org/sqlite"
