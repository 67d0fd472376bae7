import { describe, expect, it } from 'vitest';
import { createHttpRule, isLoopbackHost } from '../../src/catalog/http-rule.ts';

describe('a credential in clear', () => {
  it('may go to loopback, whatever is allowed', () => {
    const mayUseHttp = createHttpRule({ allow: [], allowHttp: false });
    for (const url of [
      'http://localhost/mcp',
      'http://127.0.0.1:8080',
      'http://127.9.9.9',
      'http://[::1]:3000/x',
      'http://LOCALHOST',
      'http://2130706433/',
      'http://0x7f.1/',
    ]) {
      expect(mayUseHttp(url), url).toBe(true);
    }
  });

  it('goes nowhere that only looks like loopback', () => {
    const mayUseHttp = createHttpRule({ allow: [], allowHttp: true });
    for (const url of [
      'http://localhost.evil.test',
      'http://127.0.0.1.evil.test',
      'http://evil.test/localhost',
      'http://localhost@evil.test',
      'http://10.0.0.1',
      'http://[::2]',
      'no url',
      '',
    ]) {
      expect(mayUseHttp(url), url).toBe(false);
    }
  });

  it('may go to a host that was allowed by name, when that is switched on', () => {
    const allow = ['Inner.Test', 'other.test:8443'];
    const mayUseHttp = createHttpRule({ allow, allowHttp: true });
    for (const url of ['http://inner.test/mcp', 'http://inner.test:99/', 'http://OTHER.test:8443/'])
      expect(mayUseHttp(url), url).toBe(true);
    for (const url of ['http://other.test/', 'http://other.test:80/', 'http://sub.inner.test/'])
      expect(mayUseHttp(url), url).toBe(false);
    for (const url of ['http://inner.test/mcp', 'http://other.test:8443/'])
      expect(createHttpRule({ allow, allowHttp: false })(url), url).toBe(false);
  });

  it('knows a loopback host by its name alone', () => {
    expect(['localhost', '127.0.0.1', '[::1]', 'LocalHost'].every(isLoopbackHost)).toBe(true);
    expect(['127.0.0.1.x', '0.0.0.0', '[::]', '::1', ''].some(isLoopbackHost)).toBe(false);
  });
});
