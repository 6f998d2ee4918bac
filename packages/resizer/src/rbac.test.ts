// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aDriver, someSettings } from '../testing/builders.ts';
import { rightsFacts } from './rbac.ts';

const modifying = { features: { volumeAttributesClass: true } };
const without = { features: { volumeAttributesClass: false } };
const onlyExpands = { ...aDriver(), controllerCapabilities: new Set(['EXPAND_VOLUME']) };

it.each([
  { driver: aDriver(), settings: { ...modifying, handleInUseErrors: true }, pods: true, modify: true },
  { driver: aDriver(), settings: { ...without, handleInUseErrors: false }, pods: false, modify: false },
  {
    driver: aDriver({ expansion: 'none' }),
    settings: { ...modifying, handleInUseErrors: true },
    pods: false,
    modify: true,
  },
  { driver: onlyExpands, settings: { ...modifying, handleInUseErrors: true }, pods: true, modify: false },
])(
  'given $driver.expansion for expansions, and $settings, then pods are needed: $pods, and classes: $modify',
  ({ driver, settings, ...needed }) => {
    expect(rightsFacts(driver, someSettings(settings))).toEqual(needed);
  },
);
