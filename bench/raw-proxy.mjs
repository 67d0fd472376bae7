// The baseline that does nothing: node:http in, node:http out, bodies piped, nothing looked at.
import http from 'node:http';

const upstream = new URL(process.env.UPSTREAM);
const agent = new http.Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 256 });
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'host'];

function endToEnd(headers) {
  const kept = { ...headers };
  for (const name of HOP_BY_HOP) delete kept[name];
  return kept;
}

http
  .createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    const { method, url: path, headers } = request;
    const options = {
      hostname: upstream.hostname,
      port: upstream.port,
      agent,
      method,
      path,
      headers: endToEnd(headers),
    };
    const out = http.request(options, (answer) => {
      response.writeHead(answer.statusCode, endToEnd(answer.headers));
      answer.pipe(response);
    });
    out.on('error', () => response.destroy());
    response.on('close', () => out.destroy());
    request.pipe(out);
  })
  .listen(Number(process.env.PORT), '127.0.0.1');
