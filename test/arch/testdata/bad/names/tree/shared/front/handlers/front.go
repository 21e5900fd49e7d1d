// Package front hides in a drawer.
package front
