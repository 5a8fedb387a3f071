import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;

/** Client url|httpclient WHAT URL [FILE]: one request by java.net.URL or java.net.http.HttpClient. */
public class Client {
	static InputStream byUrl(String what, URI uri, String[] words) throws Exception {
		var c = uri.toURL().openConnection();
		if (what.equals("upload")) {
			c.setDoOutput(true);
			c.getOutputStream().write(Files.readAllBytes(Path.of(words[3])));
		}
		return c.getInputStream();
	}

	static InputStream byHttpClient(String what, URI uri, String[] words) throws Exception {
		var request = HttpRequest.newBuilder(uri);
		if (what.equals("upload"))
			request.POST(HttpRequest.BodyPublishers.ofFile(Path.of(words[3])));
		var answer = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
		if (answer.statusCode() != 200)
			throw new Exception(answer.statusCode() + " " + answer.headers().map() + " " + new String(answer.body().readAllBytes()));
		return answer.body();
	}

	public static void main(String[] words) throws Exception {
		var uri = URI.create(words[2]);
		try (var in = words[0].equals("url") ? byUrl(words[1], uri, words) : byHttpClient(words[1], uri, words)) {
			var piece = new byte[65536];
			for (int n; (n = in.read(piece)) > 0;) {
				System.out.write(piece, 0, n);
				System.out.flush();
			}
		}
	}
}
