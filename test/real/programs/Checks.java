// See java.py.
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class Checks {
    static class Node {
        Node next;
        int value;

        Node(int value, Node next) {
            this.value = value;
            this.next = next;
        }
    }

    static int nulls = 0;

    // Compiled without a test for null while none has come: then the processor finds it.
    static int follow(Node node) {
        try {
            return node.next.value;
        } catch (NullPointerException e) {
            nulls++;
            return -1;
        }
    }

    static int deep(int n) {
        return 1 + deep(n + 1);
    }

    static long work(int seed) {
        Map<String, Integer> map = new TreeMap<>();
        for (int i = 0; i < 20000; i++) {
            map.merge("k" + (i * 31 + seed) % 977, i, Integer::sum);
        }
        return map.values().stream().mapToLong(x -> x).sum();
    }

    static void pool() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int seed = i;
            all.add(pool.submit(() -> work(seed)));
        }
        for (Future<Long> f : all) {
            System.out.println(f.get());
        }
        pool.shutdown();
    }

    static void garbage() {
        for (int i = 0; i < 5; i++) {
            byte[][] rows = new byte[200][];
            for (int k = 0; k < 200; k++) {
                rows[k] = new byte[10000];
            }
            System.gc();
        }
    }

    static void faults() {
        int[] four = new int[4];
        try {
            four[nulls | 4] = 1;
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
        try {
            System.out.println(1 / four[0]);
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage());
        }
        try {
            deep(0);
        } catch (StackOverflowError e) {
            System.out.println("the stack is full");
        }
    }

    public static void main(String[] arguments) throws Exception {
        long sum = 0;
        Node full = new Node(1, new Node(2, null));
        for (int i = 0; i < 300000; i++) {
            sum += follow(i > 200000 && i % 1000 == 0 ? full.next : full);
        }
        System.out.println(sum + " " + nulls);
        pool();
        garbage();
        faults();
        System.out.println(IntStream.range(0, 1000).parallel().mapToObj(Integer::toString)
            .collect(Collectors.joining()).hashCode());
        System.exit(4);
    }
}
