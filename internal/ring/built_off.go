//go:build mirador_off

package ring

// Built is false in programs built with the tag mirador_off, which record
// nothing and have no instruction for it.
const Built = false
