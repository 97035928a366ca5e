// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import jdk.jfr.Recording;

// Busy has two hot methods, allocates, contends for a lock, and waits in a native method. Its argument is for how many milliseconds.
// During the second third of them there is another recording, which takes more samples.
public class Busy {
    static final Object lock = new Object();
    static volatile long sink;
    static volatile Object kept;

    static long hotAdd(long sum) {
        for (int i = 0; i < 2_000_000; i++) {
            sum = sum * 31 + i;
        }
        return sum;
    }

    static long hotShift(long bits) {
        for (int i = 0; i < 2_000_000; i++) {
            bits ^= bits << 13;
            bits ^= bits >>> 7;
            bits ^= bits << 17;
        }
        return bits;
    }

    static void allocate() {
        for (int i = 0; i < 2_000; i++) {
            kept = new byte[1024 + i % 64];
        }
        kept = new byte[2_000_000];
    }

    static void contend() {
        synchronized (lock) {
            long end = System.nanoTime() + 20_000_000L;
            while (System.nanoTime() < end) {
                sink++;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.currentTimeMillis() + Long.parseLong(args[0]);
        Runnable work = () -> {
            while (System.currentTimeMillis() < end) {
                sink += hotAdd(sink) + hotShift(sink + 1);
                allocate();
            }
        };
        Runnable fight = () -> {
            while (System.currentTimeMillis() < end) {
                contend();
            }
        };
        Thread[] threads = {new Thread(work, "worker"), new Thread(fight, "fighter-1"), new Thread(fight, "fighter-2")};
        for (Thread thread : threads) {
            thread.start();
        }
        ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Thread acceptor = new Thread(() -> {
            try {
                socket.accept();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, "acceptor");
        acceptor.setDaemon(true);
        acceptor.start();
        long third = Long.parseLong(args[0]) / 3;
        Thread.sleep(third);
        try (Recording another = new Recording()) {
            another.enable("jdk.ExecutionSample").withPeriod(Duration.ofMillis(5));
            another.start();
            Thread.sleep(third);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
