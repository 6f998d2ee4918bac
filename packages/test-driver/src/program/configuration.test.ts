// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { gib } from '../../testing/calls.ts';
import { allCapabilities, defaultSettings } from '../index.ts';
import { configure } from './configuration.ts';
import { parseFlags, usage } from './flags.ts';
import { formatSettings, parseSettings } from './settings-file.ts';

const own = ['--nodeid=n1'];

describe('flags', () => {
  it('given the forms of Go flags, when parsed, then all mean the same', () => {
    const forms = [['--nodeid=n1'], ['--nodeid', 'n1'], ['-nodeid=n1'], ['-nodeid', 'n1']];
    expect(forms.map((args) => parseFlags(args).nodeid)).toEqual(forms.map(() => ['n1']));
    expect(parseFlags(['--journal-secrets', '--topology=a=b', '--topology', 'c=d'])).toMatchObject({
      'journal-secrets': ['true'],
      topology: ['a=b', 'c=d'],
      mounts: ['auto'],
      without: [],
    });
  });

  it.each([
    { args: ['--nope'], says: 'unknown argument --nope' },
    { args: ['nodeid'], says: 'unknown argument nodeid' },
    { args: ['--nodeid'], says: 'flag needs an argument: --nodeid' },
    { args: ['--fsync=maybe'], says: '--fsync is not true or false' },
  ])('given $args, when parsed, then "$says"', ({ args, says }) => {
    expect(() => parseFlags(args)).toThrow(says);
  });

  it('given help, then every flag has a line', () => {
    expect(
      usage()
        .split('\n')
        .map((line) => /^ {2}--(\S+)/.exec(line)?.[1]),
    ).toEqual(Object.keys(parseFlags([])));
  });
});

describe('configuration', () => {
  it('given only a node id, when configured, then everything is offered, with the topology of the node', () => {
    expect(configure(parseFlags(own))).toEqual({
      settings: {
        ...defaultSettings,
        nodes: [{ id: 'n1', segments: { 'topology.test.csi.example.com/node': 'n1' }, maxVolumes: 0 }],
      },
      stateFolder: '/csi-data-dir',
      durability: 'machine',
      mounts: 'auto',
      endpoints: [{ path: '/tmp/csi.sock', nodeId: 'n1' }],
      journal: { path: undefined, secrets: 'stripped' },
      faultSocket: undefined,
    });
  });

  it('given capabilities to leave out and to add, when configured, then they are left out and added, with those that depend on them', () => {
    const flags = [
      '--enable-attach=false',
      '--enable-topology=false',
      '--without=node.EXPAND_VOLUME',
      '--with=controller.99',
    ];
    const { capabilities } = configure(parseFlags([...own, ...flags])).settings;
    const gone = ['PUBLISH_UNPUBLISH_VOLUME', 'PUBLISH_READONLY', 'LIST_VOLUMES_PUBLISHED_NODES'];
    expect(capabilities).toEqual({
      ...allCapabilities,
      plugin: ['CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE'],
      controller: [...allCapabilities.controller.filter((type) => !gone.includes(String(type))), 99],
      node: allCapabilities.node.filter((type) => type !== 'EXPAND_VOLUME'),
    });
  });

  it('given sizes, pools and further nodes, when configured, then they have the given values', () => {
    const flags = [
      '--capacity=fast=2Gi',
      '--capacity=slow@zone:a=3G',
      '--max-volume-size=7',
      '--node=id=n2,zone=b,max-volumes=4',
    ];
    const { settings, endpoints } = configure(parseFlags([...own, ...flags, '--node-endpoint=n2=unix:///n2.sock']));
    expect(settings.pools).toEqual([
      { kind: 'fast', totalBytes: 2n * gib, segments: undefined },
      { kind: 'slow', totalBytes: 3_000_000_000n, segments: { zone: 'a' } },
    ]);
    expect(settings.maxVolumeBytes).toBe(7n);
    expect(settings.nodes[1]).toEqual({ id: 'n2', segments: { zone: 'b' }, maxVolumes: 4 });
    expect(endpoints[1]).toEqual({ path: '/n2.sock', nodeId: 'n2' });
  });

  it.each([
    { args: [], says: '--nodeid is required' },
    { args: [...own, '--drivername='], says: '--drivername is empty' },
    { args: [...own, '--endpoint=tcp://x:1'], says: 'tcp://x:1 is not a unix socket' },
    { args: [...own, '--mounts=magic'], says: '--mounts is not kernel, links or auto' },
    { args: [...own, '--capacity=fast'], says: '--capacity fast is not' },
    { args: [...own, '--capacity=fast=2Pounds'], says: '2Pounds is not a quantity' },
    { args: [...own, '--max-volumes-per-node=-1'], says: '-1 is not a number' },
    { args: [...own, '--without=LIST_SNAPSHOTS'], says: 'there is no capability LIST_SNAPSHOTS' },
    { args: [...own, '--without=controller.LIST_SNAPSHOT'], says: 'there is no capability controller.LIST_SNAPSHOT' },
    { args: [...own, '--topology=zone'], says: '--topology: zone is not key=value' },
    { args: [...own, '--node=zone=b'], says: '--node zone=b has no id' },
  ])('given $args, when configured, then "$says"', ({ args, says }) => {
    expect(() => configure(parseFlags(args))).toThrow(says);
  });
});

describe('the settings file', () => {
  it('given settings, when written and read, then they are the same and take precedence over flags', () => {
    const pools = [{ kind: 'fast', totalBytes: 2n ** 60n, segments: { zone: 'a' } }];
    const settings = { name: 'x', pools, maxVolumeBytes: 5n, nodes: 'any' as const };
    const read = parseSettings(formatSettings(settings));
    expect(read).toEqual(settings);
    expect(configure(parseFlags([...own, '--drivername=y']), read).settings).toMatchObject(settings);
  });

  it.each([
    { text: '{"pool":[]}', says: 'pool' },
    { text: '{"capabilities":{"controler":[]}}', says: 'capabilities.controler' },
    { text: '{"pools":[{"kind":"fast","size":"1"}]}', says: 'pools.size' },
    { text: '{"nodes":[{"id":"n1","segment":{}}]}', says: 'nodes.segment' },
  ])('[packaging#53] given a misspelt name as in $text, when read, then it is refused', ({ text, says }) => {
    expect(() => parseSettings(text)).toThrow(`unknown settings: ${says}`);
  });
});
