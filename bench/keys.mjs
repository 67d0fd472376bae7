// The key pair that signs the agents' tokens: made on this machine, kept in a directory of its own, never committed.
//   node bench/keys.mjs [directory]     prints where the private key is
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Gives the path of the PEM in `directory`, made when there is none. */
export function makeKey(directory) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, 'es256.pem');
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  }
  return path;
}

/** The public half of it, as the only key of a JWK set. */
export function publicKeySet(pemPath) {
  const key = createPublicKey(createPrivateKey(readFileSync(pemPath)));
  return { keys: [{ ...key.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256', use: 'sig' }] };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(makeKey(process.argv[2] ?? mkdtempSync(join(tmpdir(), 'keybearer-bench-keys-'))));
}
