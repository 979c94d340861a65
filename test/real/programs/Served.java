import com.sun.net.httpserver.HttpServer;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** An HTTP server; its answers make garbage. See server_java.py. */
public class Served {
    public static void main(String[] arguments) throws Exception {
        var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
        var server = HttpServer.create(address, 64);
        server.createContext("/", exchange -> {
            var text = new StringBuilder(exchange.getRequestURI().toString());
            for (int i = 0; i < 200; i++) {
                text.append(' ').append(Integer.toString(i * i));
            }
            byte[] body = text.toString().getBytes();
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
