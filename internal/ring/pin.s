// The functions of pin.go have no body here.
