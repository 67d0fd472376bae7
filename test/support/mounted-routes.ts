// The routes of the express app as they are mounted, so that a test of every route knows the new ones by itself.
import express from 'express';

export interface MountedRoute {
  /** As express takes it: `/connect/:ticket`. */
  readonly path: string;
  /** Upper case, or `ALL`; empty for a part of the app that is no route. */
  readonly methods: readonly string[];
}

interface Layer {
  readonly rawPath: string | readonly string[];
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
}

interface Stacked {
  readonly stack: readonly unknown[];
}

/** In the order in which they are asked. */
export function routesOf({ stack }: Stacked, base = ''): readonly MountedRoute[] {
  return (stack as readonly Layer[]).flatMap(({ rawPath, route, handle }) => {
    if (route !== undefined) return [{ path: base + route.path, methods: methodsOf(route.methods) }];
    const places = (typeof rawPath === 'string' ? [rawPath] : rawPath).map(
      (place) => base + (place === '/' ? '' : place),
    );
    if (handle.stack !== undefined) return places.flatMap((place) => routesOf(handle as Stacked, place));
    return places.filter((place) => place !== base).map((path) => ({ path, methods: [] }));
  });
}

const methodsOf = (methods: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.keys(methods).map((method) => (method === '_all' ? 'ALL' : method.toUpperCase()));

interface Application {
  readonly router: Stacked;
}

/** Apps made from here on are given to `seen` with their first request; the answer undoes it. */
export function watchApps(seen: (app: Application) => void): () => void {
  const prototype = express.application as unknown as { handle: (...parts: unknown[]) => unknown };
  const { handle } = prototype;
  prototype.handle = function (this: Application, ...parts) {
    seen(this);
    return handle.apply(this, parts);
  };
  return () => {
    prototype.handle = handle;
  };
}

/** One address of the route. */
export function addressOf({ path }: MountedRoute, values: Readonly<Record<string, string>> = {}): string {
  return path.replace(/\{[^}]*\}/g, '').replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? 'x');
}
