// T14: an issuer's keys are read from the very address that was registered, and from nowhere it points to.
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { fetchJson } from '../../src/upstream/fetch-json.ts';
import { openTestDoor } from '../support/a-door.ts';
import { type Listener, listen } from '../support/upstreams/listener.ts';
import { within } from '../support/within.ts';

let listener: Listener;
const asked: string[] = [];
let answer: (response: http.ServerResponse) => void;
const dispatcher = openTestDoor({ clock: systemClock, socketsPerOrigin: 1 });

beforeAll(async () => {
  listener = await listen((request, response) => {
    asked.push(String(request.url));
    answer(response);
  });
});
afterAll(async () => {
  await dispatcher.destroy();
  await listener.close();
});

const read = (): Promise<unknown> => {
  asked.length = 0;
  const url = new URL('/keys', listener.url).href;
  const { signal } = new AbortController();
  return within(fetchJson({ dispatcher, clock: systemClock }, url, signal), 'the document', 5_000);
};

describe('a document of another server', () => {
  it.each([301, 302, 303, 307, 308])('is not followed when it has moved (%i)', async (status) => {
    answer = (response) => response.writeHead(status, { location: new URL('/elsewhere', listener.url).href }).end();
    await expect(read()).rejects.toMatchObject({ code: 'upstream_protocol' });
    expect(asked).toEqual(['/keys']);
  });

  it('may not be larger than 256 KiB', async () => {
    const keys = (bytes: number): string => `{"keys":[],"x":"${'x'.repeat(bytes - 18)}"}`;
    answer = (response) => response.end(keys(256 * 1024));
    await expect(read()).resolves.toMatchObject({ keys: [] });
    answer = (response) => response.end(keys(256 * 1024 + 1));
    await expect(read()).rejects.toMatchObject({ code: 'upstream_protocol' });
  });

  it.each([204, 400, 401, 404, 500])('has to come with status 200, not %i', async (status) => {
    answer = (response) => response.writeHead(status).end(status === 204 ? undefined : '{"keys":[]}');
    await expect(read()).rejects.toMatchObject({ code: 'upstream_protocol' });
    expect(asked).toEqual(['/keys']);
  });

  it('has to be JSON', async () => {
    answer = (response) => response.end('<html>');
    await expect(read()).rejects.toMatchObject({ code: 'upstream_protocol' });
  });
});
