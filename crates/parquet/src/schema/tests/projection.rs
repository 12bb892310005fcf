use super::{build, offsets, parse, render};
use crate::error::Error;
use crate::schema::Projection;

const NESTED: &str = "message m {
  required int32 a;
  optional group s { optional int32 x; optional group t { optional int32 y; optional int32 z; } }
  optional group l (LIST) { repeated group list { optional group element { optional int32 x; optional int32 y; } } }
  optional group m (MAP) { repeated group key_value { required int32 key; optional group value {
    optional int32 x; optional int32 y; } } }
}";

fn project(message: &str, paths: &[&str]) -> Result<String, Error> {
    choose(message, &Projection::from_paths(paths.iter().copied()))
}

fn choose(message: &str, projection: &Projection) -> Result<String, Error> {
    let (schema, nodes) = build(&parse(message), None, &offsets(), Some(projection))?;
    let fields: Vec<_> = nodes.iter().map(|node| &node.field).collect();
    assert_eq!(schema.fields().iter().collect::<Vec<_>>(), fields);
    Ok(render(&nodes))
}

#[test]
fn a_path_chooses_all_that_lies_below_it() {
    assert_eq!(project(NESTED, &["a"]).unwrap(), "a:0/0/0#0");
    assert_eq!(project(NESTED, &["s"]).unwrap(), "s:1/0/0{x:2/0/0#1 t:2/0/0{y:3/0/0#2 z:3/0/0#3}}");
    assert_eq!(project(NESTED, &["s.t"]).unwrap(), "s:1/0/0{t:2/0/0{y:3/0/0#2 z:3/0/0#3}}");
    assert_eq!(project(NESTED, &["s.t.z"]).unwrap(), "s:1/0/0{t:2/0/0{z:3/0/0#3}}");
}

#[test]
fn fields_come_in_file_order_once_each() {
    assert_eq!(
        project(NESTED, &["s.t.z", "a", "s.x", "a"]).unwrap(),
        "a:0/0/0#0 s:1/0/0{x:2/0/0#1 t:2/0/0{z:3/0/0#3}}"
    );
}

#[test]
fn leaves_are_told_apart_by_number_where_names_repeat() {
    const REPEATED: &str = "message m { required int32 a; optional int64 a; optional group a { optional int32 b; } }";
    let leaves = |leaves: &[usize]| choose(REPEATED, &Projection::from_leaves(leaves.iter().copied()));
    assert_eq!(leaves(&[1]).unwrap(), "a:1/0/0#1");
    assert_eq!(leaves(&[2, 0]).unwrap(), "a:0/0/0#0 a:1/0/0{b:2/0/0#2}");
    assert_eq!(leaves(&[]).unwrap(), "");
    let error = leaves(&[3]).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains("3 in a schema of 3"), "{error}");
}

#[test]
fn no_paths_choose_no_columns() {
    assert_eq!(project(NESTED, &[]).unwrap(), "");
}

#[test]
fn lists_take_the_parquet_path_and_the_arrow_path() {
    let expected = "l:1/0/0[2 element:3/1/2{y:4/1/2#5}]";
    assert_eq!(project(NESTED, &["l.list.element.y"]).unwrap(), expected);
    assert_eq!(project(NESTED, &["l.element.y"]).unwrap(), expected);
    assert!(project(NESTED, &["l.y"]).is_err());
    assert_eq!(project(NESTED, &["l.list"]).unwrap(), project(NESTED, &["l"]).unwrap());
}

#[test]
fn maps_keep_their_keys_and_some_value() {
    let pruned = "m:1/0/0[2 key_value:2/1/2{key:2/1/2#6 value:3/1/2{y:4/1/2#8}}]";
    assert_eq!(project(NESTED, &["m.key_value.value.y"]).unwrap(), pruned);
    assert_eq!(project(NESTED, &["m.key_value.key"]).unwrap(), project(NESTED, &["m"]).unwrap());
}

#[test]
fn an_exact_root_name_wins_over_nested_fields() {
    let message = "message m { optional group a { optional int32 b; optional int32 c; } required int32 a.b; }";
    assert_eq!(project(message, &["a.b"]).unwrap(), "a.b:0/0/0#2");
    assert_eq!(project(message, &["a.c"]).unwrap(), "a:1/0/0{c:2/0/0#1}");
    let dotted = "message m { optional group a.b { optional int32 c.d; optional int32 e; } }";
    assert_eq!(project(dotted, &["a.b.c.d"]).unwrap(), "a.b:1/0/0{c.d:2/0/0#0}");
    assert!(project(dotted, &["a"]).is_err());
    assert!(project(dotted, &["a.b.c"]).is_err());
}

#[test]
fn repeated_names_are_chosen_together() {
    assert_eq!(
        project("message m { required int32 a; required int32 b; optional int64 a; }", &["a"]).unwrap(),
        "a:0/0/0#0 a:1/0/0#2"
    );
}

#[test]
fn unknown_paths_are_refused_with_near_names() {
    let message = |path: &str| match project(NESTED, &[path]) {
        Err(Error::Invalid { what }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(message("s.t.w"), "no column 's.t.w'; did you mean 's.t.y' or 's.t.z'?");
    assert_eq!(message("A"), "no column 'A'; did you mean 'a' or 's' or 'l'?");
    assert_eq!(message("temperature"), "no column 'temperature'; the file has 'a', 's', 'l', 'm'");
    assert_eq!(message(""), "no column ''; did you mean 'a' or 's' or 'l'?");
    assert_eq!(message("a."), "no column 'a.'; did you mean 'a'?");
}

#[test]
fn a_struct_that_loses_fields_loses_its_extension_type() {
    let message = "message m { optional group v (VARIANT) { required binary metadata; optional binary value; } }";
    let whole = build(&parse(message), None, &offsets(), None).unwrap().0;
    assert!(whole.field(0).extension_type_name().is_some());
    let projection = Projection::from_paths(["v.value"]);
    let pruned = build(&parse(message), None, &offsets(), Some(&projection)).unwrap().0;
    assert_eq!(pruned.field(0).extension_type_name(), None);
}
