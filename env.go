package mirador

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/mirador-trace/mirador/internal/ring"
)

// Variable is the environment variable that asks for a recording.
const Variable = "MIRADOR"

var requested sync.Once

// StartIfRequested starts a recording if the environment asks for it, by
// MIRADOR=path or, say, MIRADOR=path,size=64MB, and does nothing otherwise;
// nor does it in a second call. Each %p in the path becomes the process's
// number: then the processes that this one starts record, too, each into a
// directory of its own. Without, they do not, since the variable is removed.
//
// When it cannot record it says so in a line on standard error.
func StartIfRequested() {
	if !ring.Built {
		return
	}
	requested.Do(func() {
		request := os.Getenv(Variable)
		if request == "" {
			return
		}
		c, err := parseRequest(request)
		if err == nil {
			_, err = Start(c)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "mirador: nothing is recorded: %s\n", strings.TrimPrefix(err.Error(), "mirador: "))
			return
		}
		if !strings.Contains(c.Path, "%p") {
			os.Unsetenv(Variable)
		}
	})
}

// parseRequest reads what MIRADOR says: a path, which may have commas in it,
// then options.
func parseRequest(s string) (c Config, err error) {
	c.Path = s
	if i := strings.LastIndex(s, ",size="); i >= 0 {
		c.Path = s[:i]
		if c.Size, err = ParseSize(s[i+len(",size="):]); err != nil {
			return c, fmt.Errorf("%s=%s: %w", Variable, s, err)
		}
		if c.Size == 0 {
			c.Size = DefaultSize
		}
	}
	if c.Path == "" {
		return c, fmt.Errorf("%s=%s: there is no path", Variable, s)
	}
	return c, nil
}

// ParseSize reads a number of bytes as people write them: "65536", "64k",
// "64MB", "1GiB". The units are powers of 1024.
func ParseSize(s string) (int64, error) {
	number := strings.TrimRight(s, "kKmMgGiIbB")
	shift, ok := map[string]int{"": 0, "B": 0, "K": 10, "KB": 10, "KIB": 10, "M": 20, "MB": 20,
		"MIB": 20, "G": 30, "GB": 30, "GIB": 30}[strings.ToUpper(s[len(number):])]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !ok || n < 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("%q is not a size; write it as 64MB", s)
	}
	return n << shift, nil
}
