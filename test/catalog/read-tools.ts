// A whole list at once.
import { type ReadTools, ToolReader } from '../../src/catalog/tool.ts';

export function readTools(listed: readonly unknown[]): ReadTools {
  const reader = new ToolReader();
  for (const item of listed) reader.add(item);
  return reader.end();
}
