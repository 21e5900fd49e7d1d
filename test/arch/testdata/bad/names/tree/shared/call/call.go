// Package call is a noun.
package call
