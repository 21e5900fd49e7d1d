// Package token is the format of service tokens: how one is made, told from
// noise, and compared with what is kept of it.
//
// A token is "mrt_", a key id of 8 characters, a secret of 30 and a checksum
// of 6, all in base 62. The prefix lets secret scanners find a leaked token,
// the checksum turns typos and guesses away before any store is asked, the key
// id makes finding the record one read by key. The secret has 178 bits, so
// what is kept is one SHA-256 of the whole token, and a slow hash would only
// cost.
//
// It promises that a token is shown once, by [Mint], and that neither a
// [Record] nor an error holds one. It refuses to store anything.
package token

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// ErrMalformed is the error of [Parse] for everything that was never minted.
var ErrMalformed = errors.New("not a service token")

// ErrUnknown is what a store answers for a key id that it does not have.
var ErrUnknown = errors.New("unknown key id")

const (
	prefix    = "mrt_"
	keyIDLen  = 8  // 47 bits: about 16 million tokens before two ids meet by chance
	secretLen = 30 // 178 bits
	crcLen    = 6  // 62^6 > 2^32
	tokenLen  = len(prefix) + keyIDLen + secretLen + crcLen

	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// fair is the largest multiple of 62 that a byte can be below: bytes
	// from it on are drawn again, or the first characters would be likelier.
	fair = 256 - 256%len(alphabet)
)

// Mint makes a token from rand, which should be crypto/rand's Reader, and
// gives its key id beside it. The error is rand's.
func Mint(rand io.Reader) (token, keyID string, err error) {
	body := make([]byte, 0, keyIDLen+secretLen)
	var drawn [keyIDLen + secretLen]byte
	for len(body) < cap(body) {
		if _, err := io.ReadFull(rand, drawn[:]); err != nil {
			return "", "", fmt.Errorf("drawing a token: %w", err)
		}
		for _, b := range drawn {
			if int(b) < fair && len(body) < cap(body) {
				body = append(body, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return prefix + string(body) + checksum(string(body)), string(body[:keyIDLen]), nil
}

// Parse gives the key id of a token whose prefix, length, alphabet and
// checksum are right, and [ErrMalformed] for everything else. It says nothing
// about whether such a token exists.
func Parse(s string) (keyID string, err error) {
	if len(s) != tokenLen || !strings.HasPrefix(s, prefix) {
		return "", ErrMalformed
	}
	body, sum := s[len(prefix):tokenLen-crcLen], s[tokenLen-crcLen:]
	for i := range len(body) {
		if strings.IndexByte(alphabet, body[i]) < 0 {
			return "", ErrMalformed
		}
	}
	if checksum(body) != sum {
		return "", ErrMalformed
	}
	return body[:keyIDLen], nil
}

// checksum is the CRC-32 (IEEE) of key id and secret in base 62, most
// significant digit first.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var text [crcLen]byte
	for i := crcLen - 1; i >= 0; i-- {
		text[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(text[:])
}
