// Package sqlite stands for the driver.
package sqlite

import _ "modernc.org/sqlite/lib"
