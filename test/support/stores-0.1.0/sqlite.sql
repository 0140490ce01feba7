PRAGMA application_id = 1397772108;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
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
INSERT INTO messages VALUES('209e15d3c20cbf2b6b8ca6ba.415a727d78ec9cdd066080e5',1,'k5',1795255255000000,'user','cut',NULL,61,'{"parts":[{"id":"p","type":"text","text":"After the cut"}]}');
INSERT INTO messages VALUES('209e15d3c20cbf2b6b8ca6ba.ed246b425097daedd68e26ea',1,'k1',1795255201000000,'user','cut',NULL,56,'{"parts":[{"id":"p","type":"text","text":"Number 1"}]}');
INSERT INTO messages VALUES('209e15d3c20cbf2b6b8ca6ba.ed246b425097daedd68e26ea',2,'k2',1795255202000000,'user','cut',NULL,56,'{"parts":[{"id":"p","type":"text","text":"Number 2"}]}');
INSERT INTO messages VALUES('209e15d3c20cbf2b6b8ca6ba.ed246b425097daedd68e26ea',3,'k3',1795255203000000,'user','cut',NULL,56,'{"parts":[{"id":"p","type":"text","text":"Number 3"}]}');
INSERT INTO messages VALUES('209e15d3c20cbf2b6b8ca6ba.ed246b425097daedd68e26ea',4,'k4',1795255204000000,'user','cut',NULL,56,'{"parts":[{"id":"p","type":"text","text":"Number 4"}]}');
INSERT INTO messages VALUES('209e15d3c20cbf2b6b8ca6ba.ed246b425097daedd68e26ea',5,NULL,0,'','',NULL,0,'');
INSERT INTO messages VALUES('3199a7b0c41a30a788663901.568912c1557438367fe1d3ee',1,'m0',1795255205000000,'system','trip',NULL,64,'{"parts":[{"id":"p","type":"text","text":"An older message"}]}');
INSERT INTO messages VALUES('3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a',1,'m1',1795255210000000,'user','trip',NULL,100,'{"parts":[{"id":"p","type":"text","text":"When do the azaleas bloom?"}],"metadata":{"tags":["a"]}}');
INSERT INTO messages VALUES('3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a',2,'m2',1795255220000000,'assistant','trip',NULL,85,'{"parts":[{"id":"p","type":"text","text":"Late April to the middle of May. 🌸"}]}');
INSERT INTO messages VALUES('3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a',3,'m3',1795255230000000,'user','trip',NULL,63,'{"parts":[{"id":"p","type":"text","text":"And the maples?"}]}');
INSERT INTO messages VALUES('3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a',4,NULL,0,'','',NULL,0,'');
INSERT INTO messages VALUES('3199a7b0c41a30a788663901.e9212fa1675005d64cbaa308',1,NULL,0,'','',NULL,0,'');
INSERT INTO messages VALUES('3514b6bb4a6a436b72da4cae.507e2c19f41a1bcc529a17b3',1,'g1',1795255201000000,'user','gone',NULL,57,'{"parts":[{"id":"p","type":"text","text":"Forget me"}]}');
INSERT INTO messages VALUES('3514b6bb4a6a436b72da4cae.507e2c19f41a1bcc529a17b3',2,NULL,0,'','',NULL,0,'');
INSERT INTO messages VALUES('dcf0d1f98f061eebbeacde1a.528a0146e4cbf70eda57b005',1,'n1',1795255240000000,'user','other-way',NULL,56,'{"parts":[{"id":"p","type":"text","text":"Or Nara?"}]}');
INSERT INTO messages VALUES('de8a7227eedbc6eb064f5bf3.53cd23686c2cf2197f4921cf',1,'c1',1795255250000000,'user','child',NULL,60,'{"parts":[{"id":"p","type":"text","text":"Which hotel?"}]}');
CREATE TABLE sessions (
	uid TEXT NOT NULL PRIMARY KEY,
	namespace TEXT NOT NULL,
	session_id TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	update_time INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	forks INTEGER NOT NULL,
	deleted_at INTEGER,
	sweep_at INTEGER,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sessions VALUES('209e15d3c20cbf2b6b8ca6ba','default','cut','',1795668745939000,2,0,NULL,1795668745876,'{"forkPointId":"","inheritedCount":0,"title":"Truncated","createTimeMicros":1795668745603000,"origin":null,"version":2,"segments":[{"log":"209e15d3c20cbf2b6b8ca6ba.ed246b425097daedd68e26ea","first":1,"last":2}],"log":"209e15d3c20cbf2b6b8ca6ba.415a727d78ec9cdd066080e5","lastTimestampMicros":1795255202000000,"ancestry":[],"undo":null,"sideLog":null,"rollovers":{"count":0,"atMs":0},"dropped":[{"log":"209e15d3c20cbf2b6b8ca6ba.ed246b425097daedd68e26ea","first":3,"last":9007199254740991,"droppedAtMs":1795668745876}],"edits":[{"revision":2,"kept":2}],"sources":[]}');
INSERT INTO sessions VALUES('2c40979ba800925fa79d1fe1','default','third-way','other-way',1795668745190000,1,0,NULL,NULL,'{"forkPointId":"n1","inheritedCount":4,"title":"Kyoto in May","createTimeMicros":1795668745190000,"origin":{"kind":"fork","sourceSessionId":"other-way","sourceUid":"dcf0d1f98f061eebbeacde1a","upToMessageId":""},"version":1,"segments":[{"log":"3199a7b0c41a30a788663901.568912c1557438367fe1d3ee","first":1,"last":1},{"log":"3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a","first":1,"last":2},{"log":"dcf0d1f98f061eebbeacde1a.528a0146e4cbf70eda57b005","first":1,"last":1}],"log":"2c40979ba800925fa79d1fe1.2b0691ea8154c989c2215c16","lastTimestampMicros":1795255240000000,"ancestry":[],"undo":null,"sideLog":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["dcf0d1f98f061eebbeacde1a"],"metadata":{"a.b":1,"$set":"x","nested":{"list":[1,null,true]}}}');
INSERT INTO sessions VALUES('3199a7b0c41a30a788663901','default','trip','',1795668745439000,3,3,NULL,1795668745115,'{"forkPointId":"","inheritedCount":0,"title":"Kyoto in May","createTimeMicros":1795668744520000,"origin":null,"version":2,"segments":[{"log":"3199a7b0c41a30a788663901.568912c1557438367fe1d3ee","first":1,"last":1},{"log":"3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a","first":1,"last":2}],"log":"3199a7b0c41a30a788663901.d8c2b1f105a354283faa26f1","lastTimestampMicros":1795255220000000,"ancestry":[],"undo":{"segments":[{"log":"3199a7b0c41a30a788663901.568912c1557438367fe1d3ee","first":1,"last":1},{"log":"3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a","first":1,"last":3}],"lastTimestampMicros":1795255230000000},"sideLog":"3199a7b0c41a30a788663901.568912c1557438367fe1d3ee","rollovers":{"count":0,"atMs":0},"dropped":[{"log":"3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a","first":4,"last":9007199254740991,"droppedAtMs":1795668745115},{"log":"3199a7b0c41a30a788663901.e9212fa1675005d64cbaa308","first":1,"last":9007199254740991,"droppedAtMs":1795668745439}],"edits":[{"revision":2,"kept":0},{"revision":3,"kept":3}],"sources":[],"metadata":{"a.b":1,"$set":"x","nested":{"list":[1,null,true]}}}');
INSERT INTO sessions VALUES('3514b6bb4a6a436b72da4cae','default','gone','',1795668745969000,2,1,1795668746078,1795668746078,'{"forkPointId":"","inheritedCount":0,"title":"","createTimeMicros":1795668745969000,"origin":null,"version":1,"segments":[],"log":"3514b6bb4a6a436b72da4cae.507e2c19f41a1bcc529a17b3","lastTimestampMicros":0,"ancestry":[],"undo":null,"sideLog":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":[]}');
INSERT INTO sessions VALUES('92b4fa94996086b3b6212afc','default','of-gone','gone',1795668746046000,1,0,NULL,NULL,'{"forkPointId":"g1","inheritedCount":1,"title":"Deleted","createTimeMicros":1795668746046000,"origin":{"kind":"fork","sourceSessionId":"gone","sourceUid":"3514b6bb4a6a436b72da4cae","upToMessageId":""},"version":1,"segments":[{"log":"3514b6bb4a6a436b72da4cae.507e2c19f41a1bcc529a17b3","first":1,"last":1}],"log":"92b4fa94996086b3b6212afc.09f4307aa5fe5c242b02f514","lastTimestampMicros":1795255201000000,"ancestry":[],"undo":null,"sideLog":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["3514b6bb4a6a436b72da4cae"]}');
INSERT INTO sessions VALUES('dcf0d1f98f061eebbeacde1a','default','other-way','trip',1795668745156000,1,1,NULL,NULL,'{"forkPointId":"m2","inheritedCount":3,"title":"Kyoto in May","createTimeMicros":1795668745138000,"origin":{"kind":"fork","sourceSessionId":"trip","sourceUid":"3199a7b0c41a30a788663901","upToMessageId":"m2"},"version":1,"segments":[{"log":"3199a7b0c41a30a788663901.568912c1557438367fe1d3ee","first":1,"last":1},{"log":"3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a","first":1,"last":2}],"log":"dcf0d1f98f061eebbeacde1a.528a0146e4cbf70eda57b005","lastTimestampMicros":1795255220000000,"ancestry":[],"undo":null,"sideLog":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["3199a7b0c41a30a788663901"],"metadata":{"a.b":1,"$set":"x","nested":{"list":[1,null,true]}}}');
INSERT INTO sessions VALUES('de8a7227eedbc6eb064f5bf3','default','child','trip',1795668745576000,1,0,NULL,NULL,'{"forkPointId":"","inheritedCount":0,"title":"A child","createTimeMicros":1795668745515000,"origin":null,"version":1,"segments":[],"log":"de8a7227eedbc6eb064f5bf3.53cd23686c2cf2197f4921cf","lastTimestampMicros":0,"ancestry":[{"log":"3199a7b0c41a30a788663901.568912c1557438367fe1d3ee","first":1,"last":1,"sessionId":"trip"},{"log":"3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a","first":1,"last":2,"sessionId":"trip"}],"undo":null,"sideLog":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["3199a7b0c41a30a788663901"]}');
INSERT INTO sessions VALUES('fddaedd26f2b9f83e305194c','default','shared','trip',1795668745354000,1,0,NULL,NULL,'{"forkPointId":"m3","inheritedCount":4,"title":"Kyoto in May","createTimeMicros":1795668745354000,"origin":{"kind":"share","sourceSessionId":"trip","sourceUid":"3199a7b0c41a30a788663901","upToMessageId":""},"version":1,"segments":[{"log":"3199a7b0c41a30a788663901.568912c1557438367fe1d3ee","first":1,"last":1},{"log":"3199a7b0c41a30a788663901.9fbe02934f72e725c1f15d8a","first":1,"last":3}],"log":"fddaedd26f2b9f83e305194c.3d13ec978a8c0a3345584104","lastTimestampMicros":1795255230000000,"ancestry":[],"undo":null,"sideLog":null,"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["3199a7b0c41a30a788663901"],"metadata":{"a.b":1,"$set":"x","nested":{"list":[1,null,true]}}}');
CREATE TABLE todos (
	namespace TEXT NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO todos VALUES('default',1,'[{"id":"01M8B359HTBBZ1GJMXY9NSQVE8","content":"pack","status":"pending","priority":"high"}]');
CREATE UNIQUE INDEX messages_by_id ON messages (log, id);
CREATE INDEX sessions_by_uid ON sessions (namespace, uid);
CREATE UNIQUE INDEX sessions_by_id ON sessions (namespace, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_time ON sessions (namespace, update_time, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_parent ON sessions (namespace, parent_id, update_time, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_to_sweep ON sessions (namespace, sweep_at) WHERE forks = 0 AND sweep_at IS NOT NULL;
COMMIT;
