// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { csiError, fakeCsiChannel } from '../../testing/index.ts';
import {
  getControllerCapabilities,
  getDriverName,
  getGroupControllerCapabilities,
  getPluginCapabilities,
  probe,
} from './identity.ts';

const call = { timeoutMs: 1000 };

describe('getDriverName', () => {
  it('given a driver, then the name is the one it reports', async () => {
    const driver = fakeCsiChannel();
    driver.answer('/csi.v1.Identity/GetPluginInfo', { name: 'Not checked!', vendor_version: '1' });
    expect(await getDriverName(driver, call)).toBe('Not checked!');
  });

  it('[common#19] given an empty name, then it is an error', async () => {
    const driver = fakeCsiChannel();
    driver.answer('/csi.v1.Identity/GetPluginInfo', { name: '' });
    await expect(getDriverName(driver, call)).rejects.toThrow('driver name is empty');
  });

  it('[common#20] given an error of the call, then it is that error', async () => {
    const driver = fakeCsiChannel();
    driver.answer('/csi.v1.Identity/GetPluginInfo', csiError('Internal', 'broken'));
    await expect(getDriverName(driver, call)).rejects.toMatchObject({
      name: 'CsiError',
      code: 'Internal',
      method: '/csi.v1.Identity/GetPluginInfo',
    });
  });
});

describe('capabilities', () => {
  it('[common#21] given entries without a type, then they are skipped; no entries make an empty set', async () => {
    const driver = fakeCsiChannel();
    driver.answerOnce('/csi.v1.Identity/GetPluginCapabilities', {
      capabilities: [{}, { volume_expansion: { type: 'ONLINE' } }, { service: { type: 'CONTROLLER_SERVICE' } }],
    });
    driver.answer('/csi.v1.Identity/GetPluginCapabilities', { capabilities: [] });
    driver.answer('/csi.v1.Controller/ControllerGetCapabilities', {
      capabilities: [{}, { rpc: { type: 'LIST_VOLUMES' } }],
    });
    driver.answer('/csi.v1.GroupController/GroupControllerGetCapabilities', { capabilities: [{}] });
    expect(await getPluginCapabilities(driver, call)).toEqual(new Set(['CONTROLLER_SERVICE']));
    expect(await getPluginCapabilities(driver, call)).toEqual(new Set());
    expect(await getControllerCapabilities(driver, call)).toEqual(new Set(['LIST_VOLUMES']));
    expect(await getGroupControllerCapabilities(driver, call)).toEqual(new Set());
  });

  it('[common#22] [csi-spec#2] given UNKNOWN and an unknown number, then both are kept and nothing fails', async () => {
    const driver = fakeCsiChannel();
    driver.answer('/csi.v1.Controller/ControllerGetCapabilities', {
      capabilities: [{ rpc: { type: 'UNKNOWN' } }, { rpc: { type: 4711 } }, { rpc: { type: 'EXPAND_VOLUME' } }],
    });
    expect(await getControllerCapabilities(driver, call)).toEqual(new Set(['UNKNOWN', '4711', 'EXPAND_VOLUME']));
  });

  it('given a driver without the service, then the error passes through', async () => {
    const driver = fakeCsiChannel();
    await expect(getControllerCapabilities(driver, call)).rejects.toMatchObject({ code: 'Unimplemented' });
  });
});

describe('decoded answers', () => {
  it('[common#27] [csi-spec#1] given a probe without ready, then the driver is ready', async () => {
    const driver = fakeCsiChannel();
    driver.answerOnce('/csi.v1.Identity/Probe', {});
    driver.answerOnce('/csi.v1.Identity/Probe', { ready: { value: true } });
    driver.answerOnce('/csi.v1.Identity/Probe', { ready: { value: false } });
    expect([await probe(driver, call), await probe(driver, call), await probe(driver, call)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('[csi-spec#5] given no maximum size, then it differs from a maximum of 0', async () => {
    const driver = fakeCsiChannel();
    driver.answerOnce('/csi.v1.Controller/GetCapacity', {});
    driver.answerOnce('/csi.v1.Controller/GetCapacity', { maximum_volume_size: { value: '0' } });
    const sizes = [
      (await driver.call('/csi.v1.Controller/GetCapacity', {}, call)).maximum_volume_size,
      (await driver.call('/csi.v1.Controller/GetCapacity', {}, call)).maximum_volume_size,
    ];
    expect(sizes).toEqual([null, { value: '0' }]);
  });

  it('given a oneof, then the member that is set is visible and the others are absent', async () => {
    const driver = fakeCsiChannel();
    driver.answer('/csi.v1.Controller/ControllerGetVolume', {
      volume: { content_source: { snapshot: { snapshot_id: 's' } } },
    });
    const { volume } = await driver.call('/csi.v1.Controller/ControllerGetVolume', {}, call);
    expect(volume?.content_source).toStrictEqual({ snapshot: { snapshot_id: 's' }, type: 'snapshot' });
  });
});
