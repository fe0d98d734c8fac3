import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;

/** What ledger-turns.ts measures, with the client of Apache BookKeeper: the same lines on standard input, the same answers. */
public class LedgerTurns {
    static final byte[] PASSWORD = "bench".getBytes();
    static final long WARM_UP_NS = 1_000_000_000L;
    static BookKeeper bookkeeper;

    static synchronized void answer(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }

    static LedgerHandle create(String[] w, int at) throws Exception {
        return bookkeeper.createLedger(Integer.parseInt(w[at]), Integer.parseInt(w[at + 1]), Integer.parseInt(w[at + 2]),
            BookKeeper.DigestType.CRC32C, PASSWORD, Collections.emptyMap());
    }

    static String latencies(long[] ns, int count) {
        long[] sorted = Arrays.copyOf(ns, count);
        Arrays.sort(sorted);
        return String.format(Locale.ROOT, "\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"maxMs\":%.3f", sorted[count / 2] / 1e6, sorted[(int) (count * 0.99)] / 1e6, sorted[count - 1] / 1e6);
    }

    /** Appends until told to end. */
    static class Load {
        final LedgerHandle handle;
        final int window;
        final byte[] data;
        final Semaphore room;
        final AtomicLong acknowledged = new AtomicLong();
        final AtomicInteger errors = new AtomicInteger();
        final long[] ns = new long[5_000_000];
        final AtomicInteger measured = new AtomicInteger();
        volatile long measureFrom = Long.MAX_VALUE;
        volatile long lastNs = System.nanoTime();
        volatile long longestNs;

        Load(LedgerHandle handle, int bytes, int window) {
            this.handle = handle;
            this.window = window;
            this.data = new byte[bytes];
            Arrays.fill(data, (byte) 'a');
            this.room = new Semaphore(window);
        }

        void one() throws InterruptedException {
            room.acquire();
            long sent = System.nanoTime();
            handle.asyncAddEntry(data, (rc, lh, id, context) -> {
                long now = System.nanoTime();
                if (rc != 0) {
                    errors.incrementAndGet();
                } else {
                    acknowledged.incrementAndGet();
                    if (sent >= measureFrom) {
                        int i = measured.getAndIncrement();
                        if (i < ns.length) {
                            ns[i] = now - sent;
                        }
                    }
                    if (now >= measureFrom) {
                        longestNs = Math.max(longestNs, now - Math.max(lastNs, measureFrom));
                    }
                    lastNs = now;
                }
                room.release();
            }, null);
        }

        void drain() throws InterruptedException {
            room.acquire(window);
            room.release(window);
        }
    }

    static void pipelined(String[] w) throws Exception {
        LedgerHandle handle = create(w, 4);
        Load load = new Load(handle, Integer.parseInt(w[1]), Integer.parseInt(w[2]));
        long start = System.nanoTime();
        load.measureFrom = start + WARM_UP_NS;
        long end = load.measureFrom + (long) (Double.parseDouble(w[3]) * 1e9);
        long before = -1;
        long beganNs = 0;
        while (System.nanoTime() < end && load.errors.get() == 0) {
            if (before < 0 && System.nanoTime() >= load.measureFrom) {
                before = load.acknowledged.get();
                beganNs = System.nanoTime();
            }
            load.one();
        }
        load.drain();
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        long entries = load.acknowledged.get();
        handle.close();
        answer("{\"perSecond\":%d,%s,\"errors\":%d,\"ledger\":%d,\"entries\":%d}", Math.round((entries - before) / seconds),
            latencies(load.ns, Math.min(load.measured.get(), load.ns.length)), load.errors.get(), handle.getId(), entries);
    }

    static void paced(String[] w) throws Exception {
        LedgerHandle handle = create(w, 4);
        byte[] data = new byte[Integer.parseInt(w[1])];
        double rate = Double.parseDouble(w[2]);
        int total = (int) (rate * Double.parseDouble(w[3]));
        long[] ns = new long[total];
        AtomicInteger done = new AtomicInteger();
        Semaphore finished = new Semaphore(0);
        long start = System.nanoTime() + 10_000_000;
        for (int i = 0; i < total; i++) {
            long due = start + (long) (i * 1e9 / rate);
            while (System.nanoTime() < due) {
                LockSupport.parkNanos(Math.min(500_000, Math.max(1, due - System.nanoTime())));
            }
            int at = i;
            handle.asyncAddEntry(data, (rc, lh, id, context) -> {
                ns[at] = System.nanoTime() - due;
                if (done.incrementAndGet() == total) {
                    finished.release();
                }
            }, null);
        }
        finished.acquire();
        handle.close();
        int skipped = (int) Math.min(total / 5, rate);
        answer("{\"rate\":%.0f,%s}", rate, latencies(Arrays.copyOfRange(ns, skipped, total), total - skipped));
    }

    static void fill(String[] w) throws Exception {
        LedgerHandle handle = create(w, 3);
        Load load = new Load(handle, Integer.parseInt(w[1]), Integer.parseInt(w[2]));
        boolean isTold = false;
        while (true) {
            load.one();
            if (!isTold && load.acknowledged.get() >= 5_000) {
                isTold = true;
                answer("{\"ledger\":%d}", handle.getId());
            }
        }
    }

    static void gap(String[] w) throws Exception {
        LedgerHandle handle = create(w, 4);
        Load load = new Load(handle, Integer.parseInt(w[1]), Integer.parseInt(w[2]));
        StringBuilder names = new StringBuilder();
        handle.getLedgerMetadata().getAllEnsembles().get(0L).forEach(id -> names.append(names.length() == 0 ? "\"" : ",\"").append(id).append('"'));
        long end = System.nanoTime() + (long) (Double.parseDouble(w[3]) * 1e9);
        load.measureFrom = System.nanoTime() + WARM_UP_NS;
        answer("{\"ensemble\":[%s]}", names);
        while (System.nanoTime() < end && load.errors.get() == 0) {
            load.one();
        }
        load.drain();
        int segments = handle.getLedgerMetadata().getAllEnsembles().size();
        handle.close();
        answer("{\"longestMs\":%.2f,\"segments\":%d,\"errors\":%d}", load.longestNs / 1e6, segments, load.errors.get());
    }

    static void recover(String[] w) throws Exception {
        long began = System.nanoTime();
        LedgerHandle handle = bookkeeper.openLedger(Long.parseLong(w[1]), BookKeeper.DigestType.CRC32C, PASSWORD);
        double ms = (System.nanoTime() - began) / 1e6;
        answer("{\"ms\":%.2f,\"lastEntryId\":%d}", ms, handle.getLastAddConfirmed());
        handle.close();
    }

    static void read(String[] w) throws Exception {
        LedgerHandle handle = bookkeeper.openLedgerNoRecovery(Long.parseLong(w[1]), BookKeeper.DigestType.CRC32C, PASSWORD);
        int batch = Integer.parseInt(w[2]);
        long last = handle.getLastAddConfirmed();
        long began = System.nanoTime();
        long bytes = 0;
        long entries = 0;
        for (long next = 0; next <= last; next += batch) {
            Enumeration<LedgerEntry> all = handle.readEntries(next, Math.min(last, next + batch - 1));
            while (all.hasMoreElements()) {
                bytes += all.nextElement().getEntry().length;
                entries++;
            }
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        handle.close();
        answer("{\"megabytesPerSecond\":%.0f,\"perSecond\":%.0f,\"entries\":%d}", bytes / seconds / 1e6, entries / seconds, entries);
    }

    public static void main(String[] a) throws Exception {
        ClientConfiguration configuration = new ClientConfiguration();
        configuration.setMetadataServiceUri(a[0]);
        configuration.setZkTimeout(10_000);
        // By default it reads 5,000 entries a second at most.
        configuration.setThrottleValue(0);
        bookkeeper = new BookKeeper(configuration);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] w = line.split(" ");
            try {
                switch (w[0]) {
                    case "pipelined": pipelined(w); break;
                    case "paced": paced(w); break;
                    case "fill": fill(w); break;
                    case "gap": gap(w); break;
                    case "recover": recover(w); break;
                    case "read": read(w); break;
                    default: throw new IllegalArgumentException("what is " + w[0] + "?");
                }
            } catch (Exception e) {
                answer("{\"error\":\"%s\"}", e.toString().replace('"', '\''));
            }
        }
        System.exit(0);
    }
}
