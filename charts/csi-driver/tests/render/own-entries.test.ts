// SPDX-License-Identifier: Apache-2.0
/** Entries of lists that both the chart and the values have: variables of the values win, and nothing else may have a name twice. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chartsFolder, hasHelm, render } from '../../../testing/helm.ts';
import { containersOf, isWorkload, nameOf, podOf, type Manifest } from '../../../testing/manifest.ts';
import { chart, everyApi, refusalWith } from '../minimal.ts';

const full = [join(chartsFolder, chart, 'ci', 'full.yaml')];
const sidecars = [
  'combined',
  'provisioner',
  'attacher',
  'resizer',
  'snapshotter',
  'livenessProbe',
  'nodeDriverRegistrar',
  'healthMonitor',
  'snapshotMetadata',
];

/** Each container that the chart has, with the values of its variables. */
function variables(
  objects: readonly Manifest[],
): ReadonlyMap<string, readonly (readonly [string, string | undefined])[]> {
  const pods = objects.filter(isWorkload).map((object) => ({ of: nameOf(object), pod: podOf(object) }));
  const tests = objects.filter(({ kind }) => kind === 'Pod').map(({ spec }) => ({ of: 'Pod', pod: spec as never }));
  return new Map(
    [...pods, ...tests].flatMap(({ of, pod }) =>
      containersOf(pod).map((each) => [
        `${of} ${each.name}`,
        (each.env ?? []).map(({ name, value }): readonly [string, string | undefined] => [name, value]),
      ]),
    ),
  );
}

describe.skipIf(!hasHelm)('variables', () => {
  it.each([true, false])(
    '[packaging#54] given a value for each variable that the chart sets, with the combined container %s, then every container has it once, with the value of the user',
    async (combined) => {
      const settings = {
        features: { capacity: true, healthMonitor: true },
        sidecars: { combined: { enabled: combined } },
      };
      const options = { chart, files: full, apiVersions: everyApi, withTests: true };
      const before = variables(await render({ ...options, values: settings }));
      const names = new Set([...before.values()].flatMap((env) => env.map(([name]) => name)));
      expect([...names].sort()).toEqual(
        expect.arrayContaining(['CSI_ENDPOINT', 'HTTP_PROXY', 'NODE_ID', 'POD_NAME', 'POD_NAMESPACE']),
      );
      const own = { env: [...names].map((name) => ({ name, value: 'mine' })) };
      const after = variables(
        await render({
          ...options,
          values: {
            ...settings,
            driver: { controller: own, node: own },
            node: { windows: own },
            // NODE_OPTIONS has a value of its own.
            sidecars: Object.fromEntries(
              sidecars.map((key) => [
                key,
                {
                  ...own,
                  ...(key === 'combined' && { enabled: combined }),
                  ...(key !== 'combined' && { nodeOptions: 'x' }),
                },
              ]),
            ),
            test: own,
          },
        }),
      );
      expect([...after.keys()]).toEqual([...before.keys()]);
      const windowsSidecars = (where: string): boolean => where.includes('-windows ') && !where.endsWith('csi-driver');
      for (const [where, env] of after) {
        if (windowsSidecars(where)) continue;
        expect(new Map(env), where).toEqual(new Map([...names].map((name) => [name, 'mine'])));
        expect(env.length, where).toBe(names.size);
      }
    },
  );

  it('given two controllers of the combined container with different values of a variable, then it is refused until the container has a value', async () => {
    const values = (shared: readonly object[]): object => ({
      sidecars: {
        combined: { enabled: true, env: shared },
        provisioner: { env: [{ name: 'A', value: '1' }] },
        attacher: { env: [{ name: 'A', value: '2' }] },
      },
    });
    expect(await refusalWith(values([]))).toMatch(
      /variable A of sidecars\.attacher\.env .* set it in sidecars\.combined\.env/,
    );
    const objects = await render({ chart, files: full, values: values([{ name: 'A', value: '3' }]) });
    expect([...variables(objects).values()].flat().filter(([name]) => name === 'A')).toEqual([['A', '3']]);
  });
});

describe.skipIf(!hasHelm)('other lists', () => {
  it.each([
    [
      'driver.controller.volumeMounts',
      { driver: { controller: { volumeMounts: [{ name: 'x', mountPath: '/csi' }] } } },
    ],
    ['driver.node.volumeMounts', { driver: { node: { volumeMounts: [{ name: 'x', mountPath: '/dev' }] } } }],
    [
      'sidecars.attacher.volumeMounts',
      { sidecars: { attacher: { volumeMounts: [{ name: 'x', mountPath: '/csi' }] } } },
    ],
    ['driver.node.ports', { driver: { node: { ports: [{ name: 'healthz', containerPort: 1 }] } } }],
    ['driver.node.ports', { driver: { node: { ports: [{ name: 'x', containerPort: 9808 }] } } }],
    ['controller.extraVolumes', { controller: { extraVolumes: [{ name: 'socket-dir', emptyDir: {} }] } }],
    ['node.extraContainers', { node: { extraContainers: [{ name: 'csi-driver', image: 'x:v1' }] } }],
  ])(
    '[packaging#55] given an entry in %s that the chart has too, then the refusal names the value',
    async (value, values) => {
      expect(await refusalWith(values)).toContain(`Change it in ${value}`);
    },
  );

  it('given one port number with two protocols, then it is rendered', async () => {
    const ports = ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), containerPort: 53, protocol }));
    const objects = await render({ chart, files: full, values: { driver: { controller: { ports } } } });
    expect(objects.length).toBeGreaterThan(0);
  });
});
