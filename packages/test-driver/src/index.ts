// SPDX-License-Identifier: Apache-2.0
// The model.
export { createDriverModel } from './model/model.ts';
export type { DriverModel, DriverModelOptions } from './model/model.ts';
export type { ChannelOptions } from './model/channel.ts';
export { driverInfoOf } from './model/driver-info.ts';
// Shared by model and program.
export type {
  Access,
  Attachment,
  HealthEntry,
  GroupRecord,
  SnapshotRecord,
  StringMap,
  VolumeRecord,
} from './core/records.ts';
export { allCapabilities, defaultSettings } from './core/settings.ts';
export type { Capabilities, NodeSettings, Pool, Settings } from './core/settings.ts';
export type { FaultAction, FaultRule, Moment } from './faults/rules.ts';
export type { FaultBox, FaultStatus } from './faults/fault-box.ts';
export type { Outcome, RecordedCall } from './journal/journal.ts';
// The program.
export { startTestDriver, testDriverCommand } from './program/start.ts';
export type { TestDriver, TestDriverCommand, TestDriverOptions } from './program/start.ts';
export { controlClient } from './control/client.ts';
export type { DriverControl } from './control/control.ts';
export { readJournal } from './journal/read-journal.ts';
