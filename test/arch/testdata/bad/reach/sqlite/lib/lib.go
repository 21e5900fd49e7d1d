// Package lib stands for the driver's library.
package lib
