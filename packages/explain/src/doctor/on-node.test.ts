// SPDX-License-Identifier: Apache-2.0
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { add, driver, node, requestsOf, runCommand } from '../../testing/cluster.ts';
import { nodeSet, registeredNode } from '../../testing/workloads.ts';
import { installation } from '../../testing/installation.ts';
import { runDoctor } from './command.ts';
import type { NodeCommands } from './on-node.ts';

const run = (host: FakeHost, args: readonly string[]): Promise<number> => runCommand(runDoctor, { host, args });
const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
const commandsOf = (text: string): readonly string[] => linesOf(text).filter((line) => !line.startsWith('#'));

it('given a node, when doctor node is called, then it prints commands about folders, sockets, SELinux, propagation and multipathd', async () => {
  const host = installation();
  expect(await run(host, ['node', '--node=node-a'])).toBe(0);
  expect(commandsOf(host.printed())).toEqual([
    'findmnt -n -o TARGET,PROPAGATION --target /var/lib/kubelet',
    'ls -laZ /var/lib/kubelet/plugins_registry',
    'ausearch -m AVC -ts recent',
    'systemctl status --no-pager multipathd',
    'journalctl -u kubelet --since=-1h --grep=csi --no-pager',
    `ls -laZ /var/lib/kubelet/plugins/${driver}`,
    `ss -xlp src /var/lib/kubelet/plugins/${driver}/csi.sock`,
    `ls -la /var/lib/kubelet/plugins/kubernetes.io/csi/${driver}`,
  ]);
  expect(requestsOf(host).every((path) => /^(list|get) /.test(path))).toBe(true);
});

it('given kubelet in another folder, when called, then the commands are about that folder', async () => {
  const host = installation();
  add(host, nodeSet({ root: '/data/kubelet' }));
  await run(host, ['node', '--node=node-a']);
  const lines = commandsOf(host.printed());
  expect(lines).toContain('findmnt -n -o TARGET,PROPAGATION --target /data/kubelet');
  expect(lines).toContain(`ss -xlp src /data/kubelet/plugins/${driver}/csi.sock`);
  expect(lines.filter((line) => line.includes('/var/lib/kubelet'))).toEqual([]);
});

it.each(['/x; reboot #/plugins/a/csi.sock', '/x/../etc/plugins/a/csi.sock', '/$(reboot)/plugins/a/csi.sock', '-rf'])(
  'given %s as the path of the socket, when called, then no command has it',
  async (path) => {
    const host = installation();
    const set = nodeSet();
    const text = JSON.stringify(set).replaceAll(`/var/lib/kubelet/plugins/${driver}/csi.sock`, path);
    add(host, JSON.parse(text) as object);
    await run(host, ['node', '--node=node-a', `--driver=${driver}`]);
    expect(commandsOf(host.printed())).toContain(`ss -xlp src /var/lib/kubelet/plugins/${driver}/csi.sock`);
    expect(host.printed()).not.toContain(path);
  },
);

it('given -o json, when called, then the document has the commands as words', async () => {
  const host = installation();
  await run(host, ['node', '--node=node-a', '-o', 'json']);
  const document = JSON.parse(host.printed()) as NodeCommands;
  expect(document).toMatchObject({ kind: 'NodeCommands', node: 'node-a', missing: [], exitCode: 0 });
  expect(document.commands.at(-1)).toMatchObject({ driver, argv: ['ls', '-la', expect.stringContaining(driver)] });
});

it('given a driver that kubelet does not know there, when called with --driver, then the commands are about it', async () => {
  const host = installation();
  add(host, registeredNode('node-b'), { ...registeredNode('node-a'), spec: { drivers: [] } });
  await run(host, ['node', '--node=node-a']);
  expect(host.printed()).not.toContain(driver);
  const asked = installation();
  add(asked, { ...registeredNode('node-a'), spec: { drivers: [] } });
  await run(asked, ['node', '--node=node-a', `--driver=${driver}`]);
  expect(commandsOf(asked.printed())).toContain(`ls -laZ /var/lib/kubelet/plugins/${driver}`);
});

it('given a node that does not exist, when called, then the exit code is 6', async () => {
  const host = installation();
  expect(await run(host, ['node', '--node=node-x'])).toBe(6);
  expect(host.logged()).toBe('error: there is no node node-x\n');
});

it('given a node with Windows, when called, then nothing is printed, and the exit code is 1', async () => {
  const host = installation();
  add(host, node('node-w', { metadata: { labels: { 'kubernetes.io/os': 'windows' } } }));
  expect(await run(host, ['node', '--node=node-w'])).toBe(1);
  expect([host.printed(), host.logged()]).toEqual([
    '',
    'error: node node-w runs Windows; the commands are those of Linux\n',
  ]);
});

it('given no right to list workloads, when called, then usual folders are taken, and the output says so', async () => {
  const rules = [{ apiGroups: ['', 'storage.k8s.io'], resources: ['*'], verbs: ['*'] }];
  const host = installation({ rules });
  expect(await run(host, ['node', '--node=node-a'])).toBe(0);
  expect(host.printed()).toContain('# not read: list deployments; usual folders are taken\n');
  expect(commandsOf(host.printed())).toContain(`ls -laZ /var/lib/kubelet/plugins/${driver}`);
});

it.each([
  { args: ['node'], why: 'doctor node needs --node' },
  { args: ['nodes', '--node=a'], why: 'doctor takes flags, and the word node' },
  { args: ['node', 'node-a', '--node=a'], why: 'doctor takes flags, and the word node' },
])('given $args, when called, then the exit code is 2: $why', async ({ args, why }) => {
  const host = installation();
  expect(await run(host, args)).toBe(2);
  expect(host.logged()).toContain(`error: ${why}\n`);
});
