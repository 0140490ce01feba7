PRAGMA application_id = 1397772108;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE labels (
	uid TEXT NOT NULL,
	label TEXT NOT NULL,
	namespace TEXT NOT NULL,
	update_time INTEGER NOT NULL,
	session_id TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (uid, label)
) STRICT, WITHOUT ROWID;
INSERT INTO labels VALUES('94ba3421da75b2c45d3ebdee','topic=travel','default',1795706524188000,'other-way','');
INSERT INTO labels VALUES('94ba3421da75b2c45d3ebdee','who=ada','default',1795706524188000,'other-way','');
INSERT INTO labels VALUES('95e03cbba7ca081b8d8e2d6a','topic=travel','default',1795720911212000,'trip','ada');
INSERT INTO labels VALUES('95e03cbba7ca081b8d8e2d6a','who=ada','default',1795720911212000,'trip','ada');
INSERT INTO labels VALUES('8437a0931cabe183c554aa1b','topic=travel','default',1795720911259000,'owned','bob');
CREATE TABLE messages (
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	id TEXT,
	timestamp INTEGER NOT NULL,
	role TEXT NOT NULL,
	session_id TEXT NOT NULL,
	origin TEXT,
	size INTEGER NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO messages VALUES('8437a0931cabe183c554aa1b.a58b14569e324522dbb39cef',1,'o1',1795720911271000,'user','owned',NULL,89,replace('{"sizes":[37,0],"parts":\n[{"id":"p","type":"text","text":"From a build with owners"}]\n}','\n',char(10)));
INSERT INTO messages VALUES('94ba3421da75b2c45d3ebdee.353dd177636022e1c546f0cd',1,'n1',1795706524270000,'user','other-way',NULL,81,replace('{"sizes":[29,0],"parts":\n[{"id":"p","type":"text","text":"On the other way"}]\n}','\n',char(10)));
INSERT INTO messages VALUES('94ba3421da75b2c45d3ebdee.d603b8548e70c09395b882a4',1,'d1',1795706524851000,'assistant','other-way',NULL,30,replace('{"sizes":[0,0],"parts":\n[]\n}','\n',char(10)));
INSERT INTO messages VALUES('95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f',1,'m1',1795706523913000,'user','trip',NULL,78,replace('{"sizes":[26,0],"parts":\n[{"id":"p","type":"text","text":"Number 1 🌸"}]\n}','\n',char(10)));
INSERT INTO messages VALUES('95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f',2,'m2',1795706523972000,'user','trip',NULL,78,replace('{"sizes":[26,0],"parts":\n[{"id":"p","type":"text","text":"Number 2 🌸"}]\n}','\n',char(10)));
INSERT INTO messages VALUES('95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f',3,'m3',1795706524048000,'user','trip',NULL,78,replace('{"sizes":[26,0],"parts":\n[{"id":"p","type":"text","text":"Number 3 🌸"}]\n}','\n',char(10)));
INSERT INTO messages VALUES('95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f',4,NULL,0,'','',NULL,0,'');
INSERT INTO messages VALUES('95e03cbba7ca081b8d8e2d6a.989dbda89dadf9adc7d86fd8',1,NULL,0,'','',NULL,0,'');
INSERT INTO messages VALUES('c6083ac66ae5caae6503fbb8.bb4aac6097c6f6c22cb7ae95',1,'g1',1795706524621000,'user','gone',NULL,74,replace('{"sizes":[22,0],"parts":\n[{"id":"p","type":"text","text":"Forget me"}]\n}','\n',char(10)));
INSERT INTO messages VALUES('c6083ac66ae5caae6503fbb8.bb4aac6097c6f6c22cb7ae95',2,NULL,0,'','',NULL,0,'');
INSERT INTO messages VALUES('fd0ccc965eed27fb2b1e807e.527c224cc26596413f44e23f',1,'c1',1795706524422000,'user','child',NULL,77,replace('{"sizes":[25,0],"parts":\n[{"id":"p","type":"text","text":"In the child"}]\n}','\n',char(10)));
INSERT INTO messages VALUES('fd0ccc965eed27fb2b1e807e.527c224cc26596413f44e23f',2,NULL,0,'','',NULL,0,'');
CREATE TABLE sessions (
	uid TEXT NOT NULL PRIMARY KEY,
	namespace TEXT NOT NULL,
	forks INTEGER NOT NULL,
	session_id TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	update_time INTEGER NOT NULL,
	expire_time INTEGER,
	revision INTEGER NOT NULL,
	deleted INTEGER NOT NULL,
	sweep_at INTEGER,
	log TEXT NOT NULL,
	named_logs TEXT,
	drafts TEXT,
	body TEXT NOT NULL
, owner TEXT NOT NULL DEFAULT '', creator_key TEXT, bytes INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO sessions VALUES('05868d8f182d469697d078ac','default',0,'of-gone','gone',1795706524631000,NULL,1,0,NULL,'05868d8f182d469697d078ac.7d1b139e8f1ee63185c2067d',NULL,NULL,'{"forkPointId":"g1","inheritedCount":1,"title":"","createTimeMicros":1795706524631000,"origin":{"kind":"fork","sourceSessionId":"gone","sourceUid":"c6083ac66ae5caae6503fbb8","upToMessageId":""},"segments":[{"log":"c6083ac66ae5caae6503fbb8.bb4aac6097c6f6c22cb7ae95","first":1,"last":1}],"lastTimestampMicros":1795706524621000,"ancestry":[],"undo":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["c6083ac66ae5caae6503fbb8"],"markedAtMs":null,"version":1}','',NULL,NULL);
INSERT INTO sessions VALUES('8437a0931cabe183c554aa1b','default',0,'owned','',1795720911259000,NULL,1,0,NULL,'8437a0931cabe183c554aa1b.a58b14569e324522dbb39cef',NULL,NULL,'{"forkPointId":"","inheritedCount":0,"title":"Owned","createTimeMicros":1795720911259000,"origin":null,"segments":[],"lastTimestampMicros":0,"ancestry":[],"undo":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":[],"markedAtMs":null,"labels":{"topic":"travel"},"version":1}','bob',NULL,NULL);
INSERT INTO sessions VALUES('94ba3421da75b2c45d3ebdee','default',0,'other-way','trip',1795706524188000,NULL,2,0,NULL,'94ba3421da75b2c45d3ebdee.353dd177636022e1c546f0cd',NULL,'[{"log":"94ba3421da75b2c45d3ebdee.d603b8548e70c09395b882a4","messageId":"d1","timestampMicros":null,"discardWhenAbandoned":false}]','{"forkPointId":"m2","inheritedCount":2,"title":"Kyoto in May","createTimeMicros":1795706524188000,"origin":{"kind":"fork","sourceSessionId":"trip","sourceUid":"95e03cbba7ca081b8d8e2d6a","upToMessageId":"m2"},"segments":[{"log":"95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f","first":1,"last":2}],"lastTimestampMicros":1795706523972000,"ancestry":[],"undo":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["95e03cbba7ca081b8d8e2d6a"],"markedAtMs":null,"labels":{"topic":"travel","who":"ada"},"version":1}','',NULL,NULL);
INSERT INTO sessions VALUES('95e03cbba7ca081b8d8e2d6a','default',2,'trip','',1795720911212000,NULL,3,0,0,'95e03cbba7ca081b8d8e2d6a.493251861cb2b12b76b06c05',NULL,NULL,'{"forkPointId":"","inheritedCount":0,"title":"Kyoto in May","createTimeMicros":1795706523816000,"origin":null,"segments":[{"log":"95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f","first":1,"last":2}],"lastTimestampMicros":1795706523972000,"ancestry":[],"undo":{"segments":[{"log":"95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f","first":1,"last":3}],"lastTimestampMicros":1795706524048000},"rollovers":{"count":0,"atMs":0},"dropped":[{"log":"95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f","first":4,"last":9007199254740991},{"log":"95e03cbba7ca081b8d8e2d6a.989dbda89dadf9adc7d86fd8","first":1,"last":9007199254740991}],"edits":[{"revision":2,"kept":2}],"sources":[],"markedAtMs":null,"labels":{"topic":"travel","who":"ada"},"ticketGeneration":1,"version":3}','ada',NULL,NULL);
INSERT INTO sessions VALUES('c6083ac66ae5caae6503fbb8','default',1,'gone','',1795706524600000,NULL,2,1,0,'c6083ac66ae5caae6503fbb8.bb4aac6097c6f6c22cb7ae95',NULL,NULL,'{"forkPointId":"","inheritedCount":0,"title":"","createTimeMicros":1795706524600000,"origin":null,"segments":[],"lastTimestampMicros":0,"ancestry":[],"undo":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":[],"markedAtMs":null,"version":1}','',NULL,NULL);
INSERT INTO sessions VALUES('fd0ccc965eed27fb2b1e807e','default',0,'child','trip',1795706524372000,NULL,2,1,0,'fd0ccc965eed27fb2b1e807e.527c224cc26596413f44e23f',NULL,NULL,'{"forkPointId":"","inheritedCount":0,"title":"","createTimeMicros":1795706524372000,"origin":null,"segments":[],"lastTimestampMicros":0,"ancestry":[{"log":"95e03cbba7ca081b8d8e2d6a.5c9df8725a9d5fa541e1198f","first":1,"last":3,"sessionId":"trip"}],"undo":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["95e03cbba7ca081b8d8e2d6a"],"markedAtMs":null,"version":1}','',NULL,NULL);
CREATE TABLE todos (
	namespace TEXT NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_id ON messages (log, id);
CREATE INDEX sessions_by_uid ON sessions (namespace, uid);
CREATE UNIQUE INDEX sessions_by_id ON sessions (namespace, session_id) WHERE deleted = 0;
CREATE INDEX sessions_by_time ON sessions (namespace, update_time, session_id) WHERE deleted = 0;
CREATE INDEX sessions_by_parent ON sessions (namespace, parent_id, update_time, session_id) WHERE deleted = 0;
CREATE INDEX sessions_to_expire ON sessions (namespace, expire_time) WHERE deleted = 0 AND expire_time IS NOT NULL;
CREATE INDEX sessions_to_sweep ON sessions (namespace, sweep_at) WHERE forks = 0 AND sweep_at IS NOT NULL;
CREATE INDEX sessions_drafting ON sessions (namespace, uid) WHERE deleted = 0 AND drafts IS NOT NULL;
CREATE INDEX labels_by_time ON labels (namespace, label, update_time, session_id);
CREATE INDEX sessions_by_owner ON sessions (namespace, owner, update_time, session_id) WHERE deleted = 0;
CREATE INDEX sessions_by_key ON sessions (namespace, creator_key, bytes) WHERE deleted = 0 AND creator_key IS NOT NULL;
CREATE INDEX sessions_by_bytes ON sessions (namespace, owner, bytes) WHERE deleted = 0 AND bytes IS NOT NULL;
CREATE INDEX labels_by_owner ON labels (namespace, owner, label, update_time, session_id);
COMMIT;
