// SPDX-License-Identifier: Apache-2.0
/**
 * Writes what the charts have generated: values.schema.json and the list of values from values.yaml, the permissions from the programs'
 * tables, the dashboard. `npm run check` fails when a file is not up to date.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { dashboard } from './charts/dashboard.ts';
import { olderHealthMonitor, upstreamMetadata } from './charts/foreign-rules.ts';
import { capacityProfiles, leaseProfiles, minimalOf, profilesOf } from './charts/rules.ts';
import { schemaOf, valuesList } from './charts/values-schema.ts';

const charts = join(import.meta.dirname, '..', 'charts');
const head = '# Generated from the tables of the programs (`npm run generate`).\n';
const toYaml = (content: object): string => `${head}${dump(content, { noRefs: true, lineWidth: 140, flowLevel: 4 })}`;

for (const chart of ['csi-driver', 'snapshot-controller']) {
  const values = join(charts, chart, 'values.yaml');
  if (!existsSync(values)) continue;
  const text = readFileSync(values, 'utf8');
  const schema = schemaOf(text, `Values of the chart ${chart}`);
  writeFileSync(join(charts, chart, 'values.schema.json'), `${JSON.stringify(schema, undefined, 2)}\n`);
  const readme = join(charts, chart, 'README.md');
  if (existsSync(readme)) writeFileSync(readme, withList(readFileSync(readme, 'utf8'), valuesList(text)));
}

const healthMonitor = profilesOf('csi-external-health-monitor-controller');
const driverChart = join(charts, 'csi-driver', 'files');
writeFileSync(
  join(driverChart, 'rbac.yaml'),
  toYaml({
    sidecars: {
      provisioner: profilesOf('csi-provisioner'),
      attacher: profilesOf('csi-attacher'),
      resizer: profilesOf('csi-resizer'),
      snapshotter: profilesOf('csi-snapshotter'),
      snapshotMetadata: { minimal: minimalOf('csi-snapshot-metadata'), compatible: upstreamMetadata },
      healthMonitor: { ...healthMonitor, compatible: [...healthMonitor.compatible, olderHealthMonitor] },
    },
    leases: leaseProfiles(),
    capacity: capacityProfiles(),
  }),
);
writeFileSync(join(driverChart, 'dashboard.json'), `${JSON.stringify(dashboard(), undefined, 2)}\n`);

function withList(page: string, list: string): string {
  return page.replace(
    /<!-- values -->[\s\S]*<!-- end of values -->/,
    () => `<!-- values -->\n${list}<!-- end of values -->`,
  );
}
