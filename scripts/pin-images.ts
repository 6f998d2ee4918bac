// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run pin-images -- --images=images.json --registry=ghcr.io/owner charts/csi-driver`: writes the registry and the
 * digests of released images into charts, before they are packaged. Without that file a chart names images by their tags.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { dump } from 'js-yaml';

const usage = 'usage: npm run pin-images -- --images=file --registry=registry chart...\n';
const { values, positionals: charts } = parseArgs({
  allowPositionals: true,
  options: { images: { type: 'string' }, registry: { type: 'string' } },
});

if (!values.images || !values.registry || charts.length === 0) {
  process.stderr.write(usage);
  process.exit(1);
}
const digests = digestsOf(JSON.parse(readFileSync(values.images, 'utf8')));
for (const chart of charts) {
  writeFileSync(join(chart, 'files', 'released-images.yaml'), dump({ registry: values.registry, digests }));
}

/** The digest of the index of each image, as `npm run images` lists it. Throws for anything else. */
function digestsOf(images: readonly { readonly name: string; readonly digest: string }[]): Record<string, string> {
  if (images.length === 0) throw new Error('the list of images is empty');
  const entries = images.map(({ name, digest }): [string, string] => {
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`the image ${name} has no digest: ${digest}`);
    return [name, digest];
  });
  return Object.fromEntries(entries);
}
