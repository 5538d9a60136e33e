package web

import (
	"crypto/subtle"
	"net"
	"net/http"
)

// policy is what a page from here may load: the program's own files, a socket
// to where it came from, and pictures that it made itself.
func policy(host string) string {
	return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; font-src 'self'; " +
		"img-src 'self' blob:; connect-src 'self' ws://" + host + "; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types mirador"
}

// guard lets pass only requests that were made for this server, and makes
// browsers careful with every answer.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.ours(r.Host) {
			http.Error(w, "this is not the server that you look for", http.StatusMisdirectedRequest)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy(r.Host))
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// ours reports whether a Host header names this server: by address, which
// nobody can point elsewhere, or by a name that is known.
func (s *Server) ours(hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = hostport, "80"
	}
	return port == s.port && (s.hosts[host] || net.ParseIP(host) != nil)
}

// withToken lets pass only who knows the token.
func (s *Server) withToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("token")
		if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
			http.Error(w, "the token is missing or not today's: open the URL that mirador printed", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}
