// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { bench, without } from '../../testing/calls.ts';
import { allCapabilities } from '../index.ts';

it('[hostpath-driver#1] given a driver without settings, when GetPluginInfo is called, then it reports a name and a version', async () => {
  expect(await bench().call('/csi.v1.Identity/GetPluginInfo', {})).toEqual({
    name: 'test.csi.example.com',
    vendor_version: '0.1.0',
    manifest: {},
  });
});

it('[csi-spec#1] given a healthy driver, when probed, then ready is absent; a rule makes it false, or an error', async () => {
  const { model, call, codeOf } = bench();
  const probe = '/csi.v1.Identity/Probe';
  expect((await call(probe, {})).ready).toBeNull();
  model.faults.add({ method: 'Probe', times: 1, action: { kind: 'answer', set: { ready: { value: false } } } });
  model.faults.add({ method: 'Probe', skip: 1, action: { kind: 'fail', code: 'FailedPrecondition' } });
  expect((await call(probe, {})).ready).toEqual({ value: false });
  expect(await codeOf(probe, {})).toBe('FailedPrecondition');
});

it('[csi-spec#2] given an unknown capability, when capabilities are listed, then its number is returned', async () => {
  const { call } = bench({ capabilities: { ...allCapabilities, controller: ['CREATE_DELETE_VOLUME', 4711] } });
  const { capabilities } = await call('/csi.v1.Controller/ControllerGetCapabilities', {});
  expect(capabilities.map(({ rpc }) => rpc!.type)).toEqual(['CREATE_DELETE_VOLUME', 4711]);
});

it('given a driver without controller or group service, when these are called, then Unimplemented', async () => {
  const { call, codeOf } = bench(without('CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE', 'ONLINE'));
  const { capabilities } = await call('/csi.v1.Identity/GetPluginCapabilities', {});
  expect(capabilities.map(({ service }) => service?.type)).toEqual(['VOLUME_ACCESSIBILITY_CONSTRAINTS']);
  expect(await codeOf('/csi.v1.Controller/ControllerGetCapabilities', {})).toBe('Unimplemented');
  expect(await codeOf('/csi.v1.GroupController/GroupControllerGetCapabilities', {})).toBe('Unimplemented');
});
