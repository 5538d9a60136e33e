//go:build !mirador_off

package mirador

// sender is the goroutine that sent a value.
type sender int64

func senderOf(id int64) sender { return sender(id) }

func (s sender) id() int64 { return int64(s) }
