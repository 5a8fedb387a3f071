// client WHAT URL [FILE]: one request by Go's net/http.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	what, url := os.Args[1], os.Args[2]
	var answer *http.Response
	var err error
	if what == "upload" {
		file, _ := os.Open(os.Args[3])
		answer, err = http.Post(url, "application/octet-stream", file)
	} else {
		answer, err = http.Get(url)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(os.Stdout, answer.Body)
	if answer.StatusCode != 200 {
		os.Exit(1)
	}
}
