// SPDX-License-Identifier: Apache-2.0
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../../..');
const sources = [
  'packages/runtime/src/tracing/*.ts',
  'packages/runtime/src/loop/trace.ts',
  'packages/csi/src/channel/call-span.ts',
  'packages/sidecar/src/tracing/*.ts',
];

it('given the attributes that the code sets, then docs/reference/tracing.md lists exactly these, each once', () => {
  const used = new Set(
    globSync(sources, { cwd: root })
      .filter((path) => !path.endsWith('.test.ts'))
      .flatMap((path) => [
        ...readFileSync(join(root, path), 'utf8').matchAll(
          /'((?:csi_sidecars|csi|k8s|rpc|http|network|server|url|service|error)\.[a-z0-9_.]+)'/g,
        ),
      ])
      .map(([, name]) => name),
  );
  const page = readFileSync(join(root, 'docs/reference/tracing.md'), 'utf8');
  const table = page.slice(page.indexOf('## Attributes'), page.indexOf('## What the driver gets'));
  const listed = [...table.matchAll(/^\| `([a-z0-9_.]+)` \|/gm)].map(([, name]) => name);
  expect(used.size).toBeGreaterThan(25);
  expect(listed).toHaveLength(used.size);
  expect(new Set(listed)).toEqual(used);
});
