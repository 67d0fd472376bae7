import { expect, it } from 'vitest';
import { welcomeText } from '../src/welcome.ts';

const welcome = (publicUrl: string, agentKey?: string): string =>
  welcomeText({ publicUrl, adminKeyFile: 'data/admin.key', adminKey: 'kba_a', agentKey });

it.each(['http://0.0.0.0:8080', 'http://[::]:8080'])(
  'a start that listens everywhere (%s) prints an address that can be used, and how others get one',
  (publicUrl) => {
    for (const text of [welcome(publicUrl), welcome(publicUrl, 'kb_a')]) {
      expect(text.startsWith('Keybearer is ready at http://127.0.0.1:8080/mcp\n')).toBe(true);
      expect(text).toMatch(/KEYBEARER_PUBLIC_URL.*KEYBEARER_ALLOWED_HOSTS/);
      expect(text).not.toContain(publicUrl);
    }
  },
);

it.each(['http://127.0.0.1:8080', 'https://kb.example.com/kb', 'http://0.0.0.0.example.com'])(
  'another address (%s) is printed as it is',
  (publicUrl) => {
    expect(welcome(publicUrl)).toMatch(`Keybearer is ready at ${publicUrl}/mcp\n`);
    expect(welcome(publicUrl)).not.toContain('KEYBEARER_ALLOWED_HOSTS');
  },
);
