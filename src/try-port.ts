// Whether we may listen there, found out before anything slow is started.
import { createServer } from 'node:net';

/** Rejects as listening would. Somebody may still take the port until it is listened on. */
export async function tryPort(host: string, port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}
