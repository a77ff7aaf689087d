// SPDX-License-Identifier: Apache-2.0

// Command gen writes real profiles of itself: heap, cpu, goroutine, mutex, block and allocs, with labels, inlined
// calls, recursion and generics, into the folder named by its argument.
package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

var kept [][]byte
var sink int

func grow(depth, size int) {
	if depth > 0 {
		grow(depth-1, size)
		return
	}
	kept = append(kept, make([]byte, size))
}

func throwAway(n int) int {
	total := 0
	for i := 0; i < n; i++ {
		total += len(strings.Repeat("x", i%100))
	}
	return total
}

type number interface{ ~int | ~float64 }

func sum[T number](values []T) T {
	var total T
	for _, v := range values {
		total += v
	}
	return total
}

func double(x int) int { return x * 2 }

func inlined(x int) int { return double(x) + double(x+1) }

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func spin(d time.Duration) {
	values := make([]int, 1000)
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := range values {
			values[i] = inlined(i) + sink
		}
		sink += sum(values) + fibonacci(15)
	}
}

type guarded struct {
	mu sync.Mutex
	n  int
}

func (g *guarded) bump() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	time.Sleep(50 * time.Microsecond)
}

func contend() {
	var g guarded
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < 100; j++ {
				g.bump()
			}
		}()
	}
	wg.Wait()
}

func write(folder, name string) {
	file, err := os.Create(filepath.Join(folder, name+".pb.gz"))
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.Lookup(name).WriteTo(file, 0); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FOLDER")
	}
	folder := os.Args[1]
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	runtime.MemProfileRate = 512

	file, err := os.Create(filepath.Join(folder, "cpu.pb.gz"))
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		log.Fatal(err)
	}
	pprof.Do(context.Background(), pprof.Labels("phase", "train", "rank", "0"), func(context.Context) {
		spin(400 * time.Millisecond)
	})
	pprof.Do(context.Background(), pprof.Labels("phase", "validate"), func(context.Context) {
		spin(200 * time.Millisecond)
	})
	spin(100 * time.Millisecond)
	pprof.StopCPUProfile()
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}

	for i := 0; i < 2000; i++ {
		grow(i%5, 64+i)
	}
	sink += throwAway(20000)
	contend()
	block := make(chan bool)
	for i := 0; i < 5; i++ {
		go func() { <-block }()
	}
	time.Sleep(10 * time.Millisecond)
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "goroutine", "mutex", "block", "threadcreate"} {
		write(folder, name)
	}
	close(block)
}
