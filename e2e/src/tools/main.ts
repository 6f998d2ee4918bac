// SPDX-License-Identifier: Apache-2.0
/** `npm run tools -- [names]`: builds what is missing and prints one `name path` line per tool. Run before the suite. */
import { catalogue, isToolName, type ToolName } from './catalogue.ts';
import { ensureTools } from './ensure-tools.ts';

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !isToolName(name));
if (unknown.length > 0) {
  process.stderr.write(`unknown tools: ${unknown.join(', ')}; known: ${Object.keys(catalogue).join(', ')}\n`);
  process.exit(2);
}
const controlPlane: readonly ToolName[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'csi-sanity',
  'gcp-pd-driver',
  'metadata-client',
];
const paths = await ensureTools(asked.length > 0 ? asked.filter(isToolName) : controlPlane);
for (const [name, path] of Object.entries(paths)) process.stdout.write(`${name} ${path}\n`);
