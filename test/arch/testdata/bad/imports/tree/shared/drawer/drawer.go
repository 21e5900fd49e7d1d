// Package drawer is not in the table.
package drawer
