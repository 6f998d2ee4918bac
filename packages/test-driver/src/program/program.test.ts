// SPDX-License-Identifier: Apache-2.0
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CsiChannel, Method, RequestOf, ResponseOf } from '@csi-sidecars/csi';
import { codeOf, mount, newVolume } from '../../testing/calls.ts';
import { connect, runProgram, temporaryFolder } from '../../testing/program.ts';
import type { DriverControl } from '../index.ts';
import { startTestDriver } from './start.ts';

const create = '/csi.v1.Controller/CreateVolume';

function call<M extends Method>(channel: CsiChannel, method: M, request: RequestOf<M>): Promise<ResponseOf<M>> {
  return channel.call(method, request, { timeoutMs: 60_000 });
}

/** Each check is a round trip to the program, which continues meanwhile. */
async function untilHanging(control: DriverControl): Promise<void> {
  while ((await control.faults()).every(({ hanging }) => hanging === 0));
}

describe('a process', () => {
  it('given kill -9 between effect and answer, when started again, then the volume is the same and its data is there', async () => {
    await using folder = await temporaryFolder();
    const options = { folder: folder.path, flags: ['--mounts=links'] };
    const first = await startTestDriver(options);
    const channel = await connect(first.socket);
    await first.control.addFault({ method: 'CreateVolume', at: 'after', action: { kind: 'crash' } });
    expect(await codeOf(call(channel, create, newVolume('a')))).toBe('Unavailable');
    channel.close();
    expect(await first.exited).toBe('SIGKILL');

    const second = await startTestDriver(options);
    const again = await connect(second.socket);
    const [volume, ...others] = await second.control.volumes();
    expect(others).toEqual([]);
    expect(volume).toMatchObject({ name: 'a', phase: 'ready', capacityBytes: 1024n ** 3n });
    const answer = await call(again, create, newVolume('a'));
    expect(answer.volume?.volume_id).toBe(volume?.id);
    expect(await readdir(join(second.stateFolder, 'volumes'))).toEqual([volume?.id]);
    again.close();
    await second.stop();
    expect(await second.exited).toBe(0);
  });

  it('given kill -9 before the effect, when started again, then the journal holds the call without an end, and numbers continue', async () => {
    await using folder = await temporaryFolder();
    const options = { folder: folder.path, flags: ['--mounts=links'] };
    const first = await startTestDriver(options);
    const channel = await connect(first.socket);
    await first.control.addFault({ method: 'CreateVolume', at: 'before', action: { kind: 'crash' } });
    expect(await codeOf(call(channel, create, newVolume('a')))).toBe('Unavailable');
    channel.close();
    await first.exited;

    await using second = await startTestDriver(options);
    const again = await connect(second.socket);
    await call(again, create, newVolume('a'));
    again.close();
    const calls = (await second.control.calls()).filter(({ method }) => method === create);
    expect(calls.map(({ outcome }) => outcome?.kind)).toEqual([undefined, 'answered']);
    expect(calls[1]!.seq).toBeGreaterThan(calls[0]!.seq);
  });

  it('given wrong flags, when started, then it does not start and prints the reason', async () => {
    await using folder = await temporaryFolder();
    await expect(startTestDriver({ folder: folder.path, flags: ['--capacity=many'] })).rejects.toThrow(
      '--capacity many is not <kind>[@<key>:<value>]=<quantity>',
    );
  });
});

describe('fault rules through the control socket', () => {
  it('given a rule that hangs under the lock, when another call for the volume comes, then it is ABORTED and the first ends when released', async () => {
    await using folder = await temporaryFolder();
    await using program = await runProgram({ folder: folder.path });
    const { channel, control } = program;
    const id = await control.addFault({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'hang' } });
    const first = codeOf(call(channel, create, newVolume('a')));
    await untilHanging(control);
    expect(await codeOf(call(channel, create, newVolume('a')))).toBe('Aborted');
    expect(await codeOf(call(channel, create, newVolume('b')))).toBe('OK');
    expect(await control.releaseFault(id)).toBe(1);
    expect(await first).toBe('OK');
    await control.removeFault(id);
    expect(await control.faults()).toEqual([]);
  });

  it('given a rule that drops the connection, when a call matches it, then only its caller loses the connection, and the effect stays', async () => {
    await using folder = await temporaryFolder();
    await using program = await runProgram({ folder: folder.path });
    const other = await connect(join(folder.path, 'c.sock'));
    await program.control.addFault({ method: 'CreateVolume', at: 'after', times: 1, action: { kind: 'drop' } });
    await program.control.addFault({ method: 'Probe', times: 1, action: { kind: 'hang' } });
    const hanging = codeOf(call(other, '/csi.v1.Identity/Probe', {}));
    await untilHanging(program.control);
    expect(await codeOf(call(program.channel, create, newVolume('a')))).toBe('Unavailable');
    await program.control.clearFaults();
    expect(await hanging).toBe('OK');
    expect((await program.control.volumes()).map(({ name }) => name)).toEqual(['a']);
    other.close();
  });

  it('given rules that are misspelt, when added, then they are refused and no rule is active', async () => {
    await using folder = await temporaryFolder();
    await using program = await runProgram({ folder: folder.path });
    const { control } = program;
    const add = (rule: object): Promise<string> => control.addFault(rule as never);
    await expect(add({ methd: 'Probe', action: { kind: 'hang' } })).rejects.toThrow('unknown fields: methd');
    await expect(add({ method: 'Prob', action: { kind: 'hang' } })).rejects.toThrow('there is no method Prob');
    await expect(add({ action: { kind: 'fail', code: 'Nope' } })).rejects.toThrow('there is no failure code Nope');
    await expect(add({ action: { kind: 'explode' } })).rejects.toThrow('there is no action explode');
    await expect(control.removeFault('fault-9')).rejects.toThrow('there is no fault rule fault-9');
    expect(await control.faults()).toEqual([]);
  });
});

describe('the journal file', () => {
  it('given secrets, when a call is recorded, then their values are not in the file unless asked for', async () => {
    await using folder = await temporaryFolder();
    const request = newVolume('a', { secrets: { token: 'hunter2' } });
    {
      await using program = await runProgram({ folder: folder.path });
      await call(program.channel, create, request);
      const [recorded] = (await program.calls()).filter(({ method }) => method === create);
      expect(recorded?.request).toMatchObject({ name: 'a', secrets: { token: '***stripped***' } });
    }
    expect(await readFile(join(folder.path, 'j'), 'utf8')).not.toContain('hunter2');
    await using kept = await runProgram({ folder: folder.path, flags: ['--journal-secrets'] });
    await call(kept.channel, create, request);
    expect((await kept.calls()).at(-1)?.request).toMatchObject({ secrets: { token: 'hunter2' } });
  });

  it('given a last line that a crash cut short, when started again, then it is skipped and later lines are whole', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'j'), '{"kind":"begin","seq":7,"at":"2026-01-01T00:00:00Z"}\n{"kind":"beg');
    await using program = await runProgram({ folder: folder.path });
    await call(program.channel, create, newVolume('a'));
    const calls = (await program.calls()).filter(({ method }) => method === create);
    expect(calls.map(({ seq, outcome }) => ({ later: seq > 7, outcome: outcome?.kind }))).toEqual([
      { later: true, outcome: 'answered' },
    ]);
  });
});

describe('the state folder', () => {
  it('given data that no record names and a half-made copy, when started, then both are gone and the rest is untouched', async () => {
    await using folder = await temporaryFolder();
    const state = join(folder.path, 'state');
    let id = '';
    {
      await using program = await runProgram({ folder: folder.path });
      id = (await call(program.channel, create, newVolume('a'))).volume!.volume_id;
    }
    await writeFile(join(state, 'volumes', id, 'data', 'kept'), 'x');
    await mkdir(join(state, 'volumes', 'orphan', 'data'), { recursive: true });
    await mkdir(join(state, 'snapshots', 'orphan', 'data'), { recursive: true });
    await mkdir(join(state, 'tmp', 'volumes-half'), { recursive: true });
    await writeFile(join(state, 'records', 'volumes', 'torn.json.tmp'), '{');
    await using again = await runProgram({ folder: folder.path });
    expect((await again.control.volumes()).map((volume) => volume.id)).toEqual([id]);
    expect(await readdir(join(state, 'volumes'))).toEqual([id]);
    expect(await readdir(join(state, 'snapshots'))).toEqual([]);
    expect(await readdir(join(state, 'tmp'))).toEqual([]);
    expect(await readdir(join(state, 'volumes', id, 'data'))).toEqual(['kept']);
    expect(await readdir(join(state, 'records', 'volumes'))).toEqual([`${id}.json`]);
  });

  it('[hostpath-driver#5] given an ephemeral volume, when published and unpublished, then its path is created in an existing folder, and removed with its data', async () => {
    await using folder = await temporaryFolder();
    await using program = await runProgram({ folder: folder.path });
    const target = join(folder.path, 'target');
    const publish = {
      volume_id: '../csi-inline',
      target_path: target,
      volume_capability: mount(),
      volume_context: { 'csi.storage.k8s.io/ephemeral': 'true' },
    };
    const nowhere = { ...publish, volume_id: 'other', target_path: join(folder.path, 'missing', 'target') };
    expect(await codeOf(call(program.channel, '/csi.v1.Node/NodePublishVolume', nowhere))).toBe('Internal');
    expect(await program.control.volumes()).toEqual([]); // no caller unpublishes what could not be published
    await call(program.channel, '/csi.v1.Node/NodePublishVolume', publish);
    await call(program.channel, '/csi.v1.Node/NodePublishVolume', publish);
    const data = await readlink(target);
    expect(data.startsWith(join(folder.path, 'state', 'volumes'))).toBe(true);
    const unpublish = { volume_id: publish.volume_id, target_path: target };
    await call(program.channel, '/csi.v1.Node/NodeUnpublishVolume', unpublish);
    await call(program.channel, '/csi.v1.Node/NodeUnpublishVolume', unpublish);
    await expect(lstat(target)).rejects.toThrow('ENOENT');
    await expect(lstat(data)).rejects.toThrow('ENOENT');
  });
});

describe('several nodes', () => {
  it('[hostpath-driver#13] given two nodes with a socket each, when called, then each reports its own id, and volumes attach to both and to no other node', async () => {
    await using folder = await temporaryFolder();
    const socket = join(folder.path, 'n2.sock');
    const flags = ['--node=id=node-2,zone=b,max-volumes=3', `--node-endpoint=node-2=${socket}`, '--topology=zone=a'];
    await using program = await runProgram({ folder: folder.path, flags });
    const second = await connect(socket);
    expect(await call(second, '/csi.v1.Node/NodeGetInfo', {})).toEqual({
      node_id: 'node-2',
      max_volumes_per_node: '3',
      accessible_topology: { segments: { zone: 'b' } },
    });
    const zoneB = { requisite: [{ segments: { zone: 'b' } }] };
    const request = newVolume('a', { accessibility_requirements: zoneB });
    const { volume } = await call(program.channel, create, request);
    const attach = async (node: string): Promise<string> =>
      await codeOf(
        call(program.channel, '/csi.v1.Controller/ControllerPublishVolume', {
          volume_id: volume!.volume_id,
          node_id: node,
          volume_capability: mount(),
        }),
      );
    expect([await attach('node-1'), await attach('node-2'), await attach('node-3')]).toEqual([
      'FailedPrecondition',
      'OK',
      'NotFound',
    ]);
    second.close();
  });
});
